package main

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"

	"pinion/packaging/bundle/tool"
)

// linked adds the C libraries in a tool that is linked statically, and returns their references. Only runc is. Their versions are those
// of this machine, where it was linked.
func (in *inventory) linked(to tool.Target, t tool.Tool) ([]string, error) {
	if !t.CGo || !strings.Contains(t.LDFlags, "-static") {
		return nil, nil
	}
	if t.Name != "runc" {
		return nil, fmt.Errorf("%s is linked statically with C libraries that nobody has named here", t.Name)
	}
	seccomp, err := to.LibraryVersion("libseccomp")
	if err != nil {
		return nil, fmt.Errorf("the version of libseccomp: %w", err)
	}
	libc, err := libcVersion(to)
	if err != nil {
		return nil, err
	}
	return []string{in.library("libseccomp", seccomp, "LGPL-2.1-only"), in.library("glibc", libc, "LGPL-2.1-or-later")}, nil
}

// libcVersion asks the compiler which C library it links.
func libcVersion(to tool.Target) (string, error) {
	cmd := exec.Command(to.Compiler(), "-E", "-P", "-x", "c", "-")
	cmd.Stdin = strings.NewReader("#include <features.h>\n__GLIBC__.__GLIBC_MINOR__\n")
	out, err := cmd.Output()
	version := strings.Join(strings.Fields(string(out)), "")
	if err != nil || version == "" || strings.Contains(version, "GLIBC") {
		return "", fmt.Errorf("the version of the C library of %s: %q, %w", to.Compiler(), out, err)
	}
	return version, nil
}

// library adds a C library.
func (in *inventory) library(name, version, licenceID string) string {
	url := "pkg:generic/" + name + "@" + version
	return in.add(cyclonedx.Component{
		BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: url, Licenses: licence(licenceID),
	}, nil)
}
