// Package networktest gives tests the CNI plugins that bridge mode runs.
package networktest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Plugins answers the directory of the plugins: those that make has built, or else ones built for this test binary,
// which it leaves to the system's cleaning of temporary files.
func Plugins(t testing.TB) string {
	t.Helper()
	dir, err := plugins()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var plugins = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the project's root: %w", err)
	}
	made := filepath.Join(strings.TrimSpace(string(out)), ".build", "tools", "cni")
	if _, err := os.Stat(filepath.Join(made, "portmap")); err == nil {
		return made, nil
	}
	return build()
})

func build() (string, error) {
	dir, err := os.MkdirTemp("", "pinion-cni-")
	if err != nil {
		return "", err
	}
	const of = "github.com/containernetworking/plugins/plugins/"
	cmd := exec.Command("go", "build", "-o", dir+"/", of+"main/bridge", of+"ipam/host-local", of+"meta/portmap")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the CNI plugins: %w: %s", err, out)
	}
	return dir, nil
}
