package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"

	"pinion/packaging/bundle/tool"
)

var seccompVersion = regexp.MustCompile(`(?m)^libseccomp: (\S+)$`)

// linked adds the C libraries in a tool that is linked statically, and returns their references. Only runc is: it tells the version
// of its libseccomp. That of the C library is the one of this machine, where it was linked.
func (in *inventory) linked(t tool.Tool, path string) ([]string, error) {
	if !t.CGo || !strings.Contains(t.LDFlags, "-static") {
		return nil, nil
	}
	if t.Name != "runc" {
		return nil, fmt.Errorf("%s is linked statically with C libraries that nobody has named here", t.Name)
	}
	told, err := exec.Command(path, "--version").Output()
	version := seccompVersion.FindSubmatch(told)
	if err != nil || version == nil {
		return nil, fmt.Errorf("%s --version does not tell the version of libseccomp: %q, %w", path, told, err)
	}
	libc, err := exec.Command("getconf", "GNU_LIBC_VERSION").Output()
	name, number, ok := strings.Cut(strings.TrimSpace(string(libc)), " ")
	if err != nil || !ok {
		return nil, fmt.Errorf("getconf GNU_LIBC_VERSION: %q, %w", libc, err)
	}
	return []string{in.library("libseccomp", string(version[1]), "LGPL-2.1-only"), in.library(name, number, "LGPL-2.1-or-later")}, nil
}

// library adds a C library.
func (in *inventory) library(name, version, licenceID string) string {
	url := "pkg:generic/" + name + "@" + version
	return in.add(cyclonedx.Component{
		BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: url, Licenses: licence(licenceID),
	}, nil)
}
