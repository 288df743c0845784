package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pinion/packaging/bundle/tool"
)

// ensureCompiler makes sure that the tools with C in them can be built: a C compiler, pkg-config, and libseccomp with its
// static library. What lacks is installed where that is possible, and named where it is not.
func ensureCompiler(to tool.Target) error {
	if compilerReady(to) {
		return nil
	}
	fmt.Println("bundle: runc and pinion-nvml need gcc, pkg-config and libseccomp's static library, for", to)
	for _, args := range aptArguments(to) {
		cmd := exec.Command("packaging/apt.sh", args...)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("install %s, pkg-config and libseccomp for %s (headers and static library), then run again: %w", to.Compiler(), to, err)
		}
	}
	if !compilerReady(to) {
		return fmt.Errorf("libseccomp.a is still not found by `%s -print-file-name=libseccomp.a` after installing libseccomp-dev", to.Compiler())
	}
	return nil
}

// aptArguments has the packages to install, in calls of apt.sh: the compiler runs on this machine, the library is for the target.
func aptArguments(to tool.Target) [][]string {
	if to == tool.Native {
		return [][]string{{"gcc", "libc6-dev", "pkg-config", "libseccomp-dev"}}
	}
	compiler := "gcc-" + strings.ReplaceAll(strings.TrimSuffix(to.Compiler(), "-gcc"), "_", "-")
	return [][]string{{"pkg-config", compiler}, {"--architecture", string(to), "libseccomp-dev"}}
}

func compilerReady(to tool.Target) bool {
	if _, err := to.LibraryVersion("libseccomp"); err != nil {
		return false
	}
	// The compiler answers with a full path when it has the file, and with the bare name when it has not.
	path, err := commandOutput(to.Compiler(), "-print-file-name=libseccomp.a")
	return err == nil && filepath.IsAbs(strings.TrimSpace(path))
}
