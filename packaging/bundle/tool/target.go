package tool

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Target is the processor that the tools are built for, by Go's name: amd64 or arm64. All its paths are below the root of the repository.
//
// What is built for this machine lies where package bundle embeds it. For another processor it lies below .build/ARCH, and `go build -overlay` puts it in
// the place of this machine's.
type Target string

// Native is the processor of this machine.
const Native = Target(runtime.GOARCH)

// processors has the prefix of the names of the GNU compiler's programs for each target.
var processors = map[Target]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// IsKnown reports whether there is a release for the target.
func (t Target) IsKnown() bool { return processors[t] != "" }

func (t Target) dir() string {
	if t == Native {
		return ".build"
	}
	return ".build/" + string(t)
}

// Tools is the directory with the programs.
func (t Target) Tools() string { return t.dir() + "/tools" }

// Stamp is the file with the digest of what the programs were built from.
func (t Target) Stamp() string { return t.dir() + "/tools.stamp" }

// Overlay is the file for `go build -overlay`; empty for the processor of this machine, which needs none.
func (t Target) Overlay() string {
	if t == Native {
		return ""
	}
	return t.dir() + "/overlay.json"
}

const (
	embeddedArchive = "packaging/bundle/tools.tar.zst"
	embeddedSums    = "packaging/bundle/tools.sum"
)

// Archive is the file with the packed programs.
func (t Target) Archive() string { return t.packed(embeddedArchive) }

// Sums is the file with the digests of the programs.
func (t Target) Sums() string { return t.packed(embeddedSums) }

func (t Target) packed(embedded string) string {
	if t == Native {
		return embedded
	}
	return t.dir() + "/" + filepath.Base(embedded)
}

// Embedded are the files that package bundle embeds, by the files of the target that stand for them.
func (t Target) Embedded() map[string]string {
	return map[string]string{t.Archive(): embeddedArchive, t.Sums(): embeddedSums}
}

// Binary is pinion itself.
func (t Target) Binary() string {
	if t == Native {
		return "bin/pinion"
	}
	return "bin/pinion-linux-" + string(t)
}

// Compiler is the C compiler.
func (t Target) Compiler() string {
	if t == Native {
		return "gcc"
	}
	return processors[t] + "-gcc"
}

// Environment is the environment of commands that build for the target: this process's, with Go's and pkg-config's variables.
func (t Target) Environment() []string {
	if t == Native {
		return os.Environ()
	}
	return append(os.Environ(), "GOOS=linux", "GOARCH="+string(t), "CC="+t.Compiler(),
		"PKG_CONFIG_LIBDIR=/usr/lib/"+processors[t]+"/pkgconfig:/usr/share/pkgconfig")
}

// LibraryVersion asks pkg-config for the version of a C library, which is there for the target.
func (t Target) LibraryVersion(name string) (string, error) {
	cmd := exec.Command("pkg-config", "--modversion", name)
	cmd.Env = t.Environment()
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}
