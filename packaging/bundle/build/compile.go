package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pinion/packaging/bundle/tool"
)

// cFlags keeps the C compiler from listing every function of NVIDIA's header that is on its way out. The Makefile has
// the same, so that tests find what was compiled here.
const cFlags = "CGO_CFLAGS=-O2 -g -Wno-deprecated-declarations"

// compile builds one tool into the directory of the tools.
func compile(to tool.Target, t tool.Tool) error {
	start := time.Now()
	version, err := versionOf(t)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", t.Tags, "-ldflags", t.LinkFlags(version), "-o", filepath.Join(to.Tools(), t.Name), t.Package)
	cmd.Env = append(to.Environment(), "CGO_ENABLED=0")
	if t.CGo {
		cmd.Env = append(to.Environment(), "CGO_ENABLED=1", cFlags)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s from %s: %w", t.Name, t.Package, err)
	}
	printStep(strings.TrimSpace("built "+t.Name+" "+version), time.Since(start))
	return nil
}

// versionOf is the version of a tool's module as go.mod pins it, without the v; empty for tools that name no module.
func versionOf(t tool.Tool) (string, error) {
	if t.Module == "" {
		return "", nil
	}
	version, err := commandOutput("go", "list", "-m", "-f", "{{.Version}}", t.Module)
	return strings.TrimPrefix(strings.TrimSpace(version), "v"), err
}

// commandOutput runs a command and returns what it printed; its error carries what it complained of.
func commandOutput(name string, args ...string) (string, error) {
	var complaints strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, args[0], err, strings.TrimSpace(complaints.String()))
	}
	return string(out), nil
}
