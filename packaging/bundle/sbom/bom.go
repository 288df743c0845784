package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"

	"pinion/packaging/bundle/tool"
)

// inventory collects the components of programs, each once, and which program has which.
type inventory struct {
	version      string // of pinion
	licences     licences
	components   map[string]cyclonedx.Component // by reference
	dependencies []cyclonedx.Dependency
}

// newBOM is the bill of the binary that was built in the repository at root. It has no time and no serial number, so that equal
// binaries have equal bills.
func newBOM(root string, to tool.Target, version string, known licences) (*cyclonedx.BOM, error) {
	binary := filepath.Join(root, to.Binary())
	if err := checkTools(root, to); err != nil {
		return nil, err
	}
	in := inventory{version: version, licences: known, components: map[string]cyclonedx.Component{}}
	pinion, modules, err := in.program("pinion", binary)
	if err != nil {
		return nil, err
	}
	for _, t := range tool.All {
		path := filepath.Join(root, to.Tools(), t.Name)
		packed, parts, err := in.program(t.Name, path)
		if err != nil {
			return nil, err
		}
		libraries, err := in.linked(to, t)
		if err != nil {
			return nil, err
		}
		in.add(packed, append(parts, libraries...))
		modules = append(modules, packed.BOMRef)
	}
	in.dependencies = append(in.dependencies, cyclonedx.Dependency{Ref: pinion.BOMRef, Dependencies: &modules})
	components := slices.SortedFunc(maps.Values(in.components), func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &pinion}
	bom.Components, bom.Dependencies = &components, &in.dependencies
	return bom, nil
}

// checkTools makes sure that the tools on disk are those in the binary, which holds the list of their digests as it is.
func checkTools(root string, to tool.Target) error {
	binary := filepath.Join(root, to.Binary())
	program, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("%w: run `make build` first", err)
	}
	sums, err := os.ReadFile(filepath.Join(root, to.Sums()))
	if err != nil {
		return fmt.Errorf("%w: run `make build` first", err)
	}
	if !bytes.Contains(program, sums) {
		return fmt.Errorf("%s was built with other tools than those in %s: run `make build`", binary, to.Tools())
	}
	for _, t := range tool.All {
		digest, err := digestOf(filepath.Join(root, to.Tools(), t.Name))
		if err != nil {
			return fmt.Errorf("%w: run `make build` first", err)
		}
		if !bytes.Contains(sums, []byte(digest+"  "+t.Name+"\n")) {
			return fmt.Errorf("%s/%s is not what was packed: remove %s and run `make build`", to.Tools(), t.Name, to.Stamp())
		}
	}
	return nil
}

func digestOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// program describes an executable, and returns the references of the Go modules in it, which it adds.
func (in *inventory) program(name, path string) (c cyclonedx.Component, modules []string, err error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return c, nil, err
	}
	digest, err := digestOf(path)
	if err != nil {
		return c, nil, err
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		module, err := in.module(m)
		if err != nil {
			return c, nil, err
		}
		modules = append(modules, in.add(module, nil))
	}
	std := cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), Description: "Go's library and runtime", Licenses: licence("BSD-3-Clause")}
	std.PackageURL = "pkg:golang/std@" + std.Version
	std.BOMRef = std.PackageURL
	main := info.Main
	if main.Path == "pinion" { // this repository, which no registry has
		main = debug.Module{Path: main.Path, Version: in.version}
	}
	c = cyclonedx.Component{
		BOMRef: "program:" + name, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: main.Version, PackageURL: moduleURL(main.Path, main.Version, strings.TrimPrefix(info.Path, main.Path)),
		Licenses: in.licences.of(main.Path), Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: digest}},
	}
	return c, append(modules, in.add(std, nil)), nil
}

// module describes a Go module. Its hash is that of go.sum, which is one over all its files.
func (in *inventory) module(m *debug.Module) (cyclonedx.Component, error) {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || len(sum) != sha256.Size {
		return cyclonedx.Component{}, fmt.Errorf("module %s %s has the hash %q, which is none of go.sum", m.Path, m.Version, m.Sum)
	}
	url := moduleURL(m.Path, m.Version, "")
	return cyclonedx.Component{
		BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url,
		Licenses: in.licences.of(m.Path), Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}},
	}, nil
}

// moduleURL is the package URL of a Go module, or of a package below it.
func moduleURL(path, version, below string) string {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B") + "?type=module"
	if below = strings.Trim(below, "/"); below != "" {
		url += "#" + below
	}
	return url
}

// add keeps a component and what it depends on, and returns its reference.
func (in *inventory) add(c cyclonedx.Component, dependencies []string) string {
	if _, there := in.components[c.BOMRef]; !there {
		in.components[c.BOMRef] = c
		if len(dependencies) > 0 {
			in.dependencies = append(in.dependencies, cyclonedx.Dependency{Ref: c.BOMRef, Dependencies: &dependencies})
		}
	}
	return c.BOMRef
}
