// Command logrouter stands for Fluent Bit in a test: it takes records at the socket that its configuration names, and keeps what it gets in a directory.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

func main() {
	dir := os.Args[1]
	conf, err := os.ReadFile("/fluent-bit/etc/fluent-bit.conf")
	if err != nil {
		log.Fatal(err)
	}
	_, after, _ := strings.Cut(string(conf), "unix_path ")
	path, _, _ := strings.Cut(after, "\n")
	_ = os.Remove(path)
	l, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	keep(dir, "conf", string(conf))
	keep(dir, "secret", fmt.Sprintf("%x", sha256.Sum256([]byte(os.Getenv("HTTP_Passwd_1")))))
	fmt.Println("the router listens")
	var mu sync.Mutex
	for {
		conn, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			text := make([]byte, 64<<10)
			for {
				n, err := conn.Read(text)
				mu.Lock()
				keep(dir, "got", string(text[:n]))
				mu.Unlock()
				if err == io.EOF {
					return
				}
			}
		}()
	}
}

// keep adds to a file of the directory.
func keep(dir, name, text string) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		log.Fatal(err)
	}
	_ = f.Close()
}
