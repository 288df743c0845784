package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// librariesText is Debian's file with the licence of the C libraries that runc is linked with.
const librariesText = "/usr/share/common-licenses/LGPL-2.1"

// writeTexts writes the licences and notices of all that a bill names, each text once, below those that have it.
func writeTexts(w io.Writer, bom *cyclonedx.BOM, from licences) error {
	root, err := goRoot()
	if err != nil {
		return err
	}
	owners := map[string][]string{} // by text
	add := func(owner string, files ...string) error {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("the licence of %s: %w", owner, err)
			}
			if trimmed := strings.TrimSpace(string(text)); !slices.Contains(owners[trimmed], owner) {
				owners[trimmed] = append(owners[trimmed], owner)
			}
		}
		return nil
	}
	for _, c := range *bom.Components {
		files := from.files(modulePath(c))
		switch {
		case len(files) > 0:
		case c.Name == "std":
			files = []string{filepath.Join(root, "LICENSE")}
		case strings.HasPrefix(c.PackageURL, "pkg:generic/"):
			files = []string{librariesText}
		case modulePath(c) == "pinion":
			continue // a program of this repository
		default:
			return fmt.Errorf("%s %s has no licence in its files", c.Name, c.Version)
		}
		if err := add(c.Name+" "+c.Version, files...); err != nil {
			return err
		}
	}
	var texts []string
	for text, of := range owners {
		slices.Sort(of)
		texts = append(texts, strings.Join(of, "\n")+"\n\n"+text+"\n")
	}
	slices.Sort(texts)
	_, err = fmt.Fprintf(w, "What pinion is made of beside its own sources, and the licences and notices of that.\n\n%s", strings.Join(texts, "\n"+strings.Repeat("-", 80)+"\n\n"))
	return err
}

// goRoot is the directory of Go's own library.
func goRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(out)), err
}

// modulePath is the path of the Go module of a component; empty: it is none.
func modulePath(c cyclonedx.Component) string {
	path, is := strings.CutPrefix(c.PackageURL, "pkg:golang/")
	if !is {
		return ""
	}
	path, _, _ = strings.Cut(path, "@")
	return path
}
