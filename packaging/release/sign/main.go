// Sign writes the signature of a file beside it, FILE.minisig. The password of an encrypted key is in RELEASE_KEY_PASSWORD.
package main

import (
	"flag"
	"fmt"
	"os"

	"pinion/packaging/signature"
)

func main() {
	key := flag.String("key", "", "`FILE` of a minisign private key")
	comment := flag.String("comment", "", "`TEXT` that is signed, too")
	flag.Parse()
	if err := run(*key, *comment, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "sign:", err)
		os.Exit(1)
	}
}

func run(keyFile, comment, path string) error {
	key, err := signature.ReadPrivateKey(keyFile, os.Getenv("RELEASE_KEY_PASSWORD"))
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := signature.Sign(file, key, comment)
	if err != nil {
		return err
	}
	return os.WriteFile(path+signature.Extension, text, 0o644)
}
