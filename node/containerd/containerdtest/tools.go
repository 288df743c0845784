package containerdtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Tools are the binaries that a runtime needs; absolute paths.
type Tools struct{ Containerd, Shim, Runc, Logger, Entrypoint string }

// recipes are the build commands of tools that `make` has not built yet.
var recipes = []struct {
	name, pkg, cgo, tags string
}{
	{"containerd", "github.com/containerd/containerd/v2/cmd/containerd", "0", "no_btrfs no_zfs no_devmapper"},
	{"containerd-shim-runc-v2", "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2", "0", "no_btrfs no_zfs no_devmapper"},
	{"runc", "github.com/opencontainers/runc", "1", "seccomp"},
}

// FindTools returns the tools that `make` has built, and builds missing ones. The logger and the entrypoint are always built, because they are
// under test.
func FindTools(t testing.TB) Tools {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("these tests run real containers and need root")
	}
	root := projectRoot(t)
	built, own := filepath.Join(root, ".build", "tools"), filepath.Join(root, ".build", "containerdtest")
	defer lock(t, own)()
	paths := map[string]string{}
	for _, r := range recipes {
		paths[r.name] = filepath.Join(built, r.name)
		if _, err := os.Stat(paths[r.name]); err == nil {
			continue
		}
		paths[r.name] = filepath.Join(own, r.name)
		if _, err := os.Stat(paths[r.name]); err != nil {
			build(t, root, paths[r.name], r.pkg, r.cgo, r.tags)
		}
	}
	logger := filepath.Join(t.TempDir(), "pinion-logger")
	build(t, root, logger, "pinion/node/logs/pinion-logger", "0", "")
	entrypoint := filepath.Join(t.TempDir(), "pinion-entrypoint")
	build(t, root, entrypoint, "pinion/node/containerd/pinion-entrypoint", "0", "")
	return Tools{
		Containerd: paths["containerd"], Shim: paths["containerd-shim-runc-v2"], Runc: paths["runc"], Logger: logger, Entrypoint: entrypoint,
	}
}

// Build builds a program of the project that runs in any image.
func Build(t testing.TB, out, pkg string) {
	t.Helper()
	build(t, projectRoot(t), out, pkg, "0", "")
}

func build(t testing.TB, root, out, pkg, cgo, tags string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-tags", tags, "-o", out, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
}

// lock keeps tests of several packages from building the same tools at once.
func lock(t testing.TB, dir string) (unlock func()) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

func projectRoot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("find the project's root: %v", err)
	}
	return strings.TrimSpace(string(out))
}
