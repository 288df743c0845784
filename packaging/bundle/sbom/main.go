// Sbom writes the bill of materials of bin/pinion in CycloneDX's JSON: pinion and each program that travels inside it, with their Go
// modules, Go's own library and C libraries, and versions, licences and hashes of them. What is inside is read from the built
// programs. Run it from the root of the repository after `make build`; `make sbom` does.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	version := flag.String("version", "dev", "version of pinion, which its binary does not tell in a form for others")
	output := flag.String("o", "bin/pinion.cdx.json", "file to write")
	flag.Parse()
	if err := run(*version, *output); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(version, output string) error {
	bom, err := newBOM(".", version)
	if err != nil {
		return err
	}
	file, err := os.Create(output)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := encode(file, bom); err != nil {
		return err
	}
	fmt.Printf("sbom: %s names %d components\n", output, len(*bom.Components))
	return file.Close()
}

// encode writes a bill of the specification 1.6, which scanners of today read.
func encode(w io.Writer, bom *cyclonedx.BOM) error {
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}
