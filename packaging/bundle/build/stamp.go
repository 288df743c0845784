package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"pinion/packaging/bundle/tool"
)

// buildStamp is the digest of everything that the tools are made from: the module versions, the Go toolchain, the table of
// flags, and the source of our own tools and of this builder.
func buildStamp(to tool.Target, all []tool.Tool) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), to, os.Getenv("CC"), os.Getenv("GOFLAGS"))
	fmt.Fprintf(hash, "%+v\n", all)
	for _, file := range []string{"go.mod", "go.sum"} {
		if err := hashFile(hash, file); err != nil {
			return "", err
		}
	}
	dirs, err := sourceDirs(all)
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		if err := hashSources(hash, dir); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// sourceDirs are the directories of this repository that our own tools and this builder are compiled from.
func sourceDirs(all []tool.Tool) ([]string, error) {
	args := []string{"list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}", "./packaging/bundle/build"}
	for _, t := range all {
		if t.IsLocal() {
			args = append(args, t.Package)
		}
	}
	out, err := commandOutput("go", args...)
	if err != nil {
		return nil, err
	}
	// A path may have spaces.
	return slices.Compact(slices.Sorted(slices.Values(strings.FieldsFunc(out, func(r rune) bool { return r == '\n' })))), nil
}

// hashSources adds every source file of one package except its tests.
func hashSources(hash io.Writer, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		name := file.Name()
		if file.IsDir() || strings.HasSuffix(name, "_test.go") || !slices.Contains([]string{".go", ".c", ".h", ".s"}, filepath.Ext(name)) {
			continue
		}
		if err := hashFile(hash, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// hashFile adds a file's name and content.
func hashFile(hash io.Writer, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(hash, filepath.Base(path), len(content))
	_, err = hash.Write(content)
	return err
}

// upToDate reports whether the last build was made from the same things and its results are still there.
func upToDate(to tool.Target, stamp string, all []tool.Tool) bool {
	last, err := os.ReadFile(to.Stamp())
	if err != nil || string(last) != stamp {
		return false
	}
	results := []string{to.Archive(), to.Sums()}
	for _, t := range all {
		results = append(results, filepath.Join(to.Tools(), t.Name))
	}
	return !slices.ContainsFunc(results, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}
