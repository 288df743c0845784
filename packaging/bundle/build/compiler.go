package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ensureCompiler makes sure that the tools with C in them can be built: a C compiler, pkg-config, and libseccomp with its
// static library. What lacks is installed where that is possible, and named where it is not.
func ensureCompiler() error {
	if compilerReady() {
		return nil
	}
	fmt.Println("bundle: runc and pinion-nvml need gcc, pkg-config and libseccomp's static library")
	cmd := exec.Command("packaging/apt.sh", "gcc", "libc6-dev", "pkg-config", "libseccomp-dev")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("install a C compiler, pkg-config and libseccomp (headers and static library), then run again: %w", err)
	}
	if !compilerReady() {
		return fmt.Errorf("libseccomp.a is still not found by `gcc -print-file-name=libseccomp.a` after installing libseccomp-dev")
	}
	return nil
}

func compilerReady() bool {
	if exec.Command("pkg-config", "--exists", "libseccomp").Run() != nil {
		return false
	}
	// The compiler answers with a full path when it has the file, and with the bare name when it has not.
	path, err := commandOutput("gcc", "-print-file-name=libseccomp.a")
	return err == nil && filepath.IsAbs(strings.TrimSpace(path))
}
