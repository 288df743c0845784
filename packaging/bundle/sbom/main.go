// Sbom writes the bill of materials of bin/pinion in CycloneDX's JSON: pinion and each program that travels inside it, with their Go
// modules, Go's own library and C libraries, and versions, licences and hashes of them. What is inside is read from the built
// programs. Run it from the root of the repository after `make build`; `make sbom` does.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/CycloneDX/cyclonedx-go"

	"pinion/packaging/bundle/tool"
)

func main() {
	version := flag.String("version", "dev", "version of pinion, which its binary does not tell in a form for others")
	arch := flag.String("arch", string(tool.Native), "processor of the binary: amd64 or arm64")
	flag.Parse()
	if err := run(tool.Target(*arch), *version); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(to tool.Target, version string) error {
	output := to.Binary() + ".cdx.json"
	known, err := findLicences(".")
	if err != nil {
		return err
	}
	bom, err := newBOM(".", to, version, known)
	if err != nil {
		return err
	}
	if err := writeFile(output, func(w io.Writer) error { return encode(w, bom) }); err != nil {
		return err
	}
	if err := writeFile(to.Binary()+".licences.txt", func(w io.Writer) error { return writeTexts(w, bom, known) }); err != nil {
		return err
	}
	fmt.Printf("sbom: %s names %d components\n", output, len(*bom.Components))
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return errors.Join(write(file), file.Close())
}

// encode writes a bill of the specification 1.6, which scanners of today read.
func encode(w io.Writer, bom *cyclonedx.BOM) error {
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}
