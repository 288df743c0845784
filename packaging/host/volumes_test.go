package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api/cli"
	"pinion/raftfsm/volumeroot"
)

func TestAHostDoesNotGiveAwayWhatItIsMadeOf(t *testing.T) {
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, registry := newDataDir(t), t.TempDir()
	for what, path := range map[string]string{"its program": filepath.Dir(binary), "its registry logins": registry, "its data": filepath.Dir(dir)} {
		err := Build{}.Up(t.Context(), cli.UpConfig{
			DataDir: dir, Listen: "127.0.0.1:0", GPUs: cli.GPUOptions{Source: "none"}, RegistryConfig: registry,
			Containers: cli.ContainerOptions{Volumes: []volumeroot.Root{{Path: path}}},
		})
		if err == nil || !strings.Contains(err.Error(), "--volume "+path) || !strings.Contains(err.Error(), "never given to tasks") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "containerd")); !os.IsNotExist(err) {
		t.Errorf("a container runtime was begun: %v", err)
	}
}
