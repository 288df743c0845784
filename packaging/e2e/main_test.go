package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"pinion/node/containerd/containerdtest"
)

// shared is the host that most tests share: eight simulated H100s, and a registry that stands in for Docker Hub.
var shared struct {
	once sync.Once
	host *host
	t    suiteTB
}

// suiteTB is a testing.TB whose clean-ups run at the end of the whole run instead of one test's.
type suiteTB struct {
	testing.TB
	cleanups []func()
}

func (k *suiteTB) Cleanup(f func()) { k.cleanups = append(k.cleanups, f) }

func (k *suiteTB) TempDir() string {
	dir, err := os.MkdirTemp("", "pinion-e2e-hub-")
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	for i := len(shared.t.cleanups) - 1; i >= 0; i-- {
		shared.t.cleanups[i]()
	}
	if teardownFailed {
		code = 1
	}
	os.Exit(code)
}

// sharedHost is the shared host. Tests leave it as they found it: no task running.
func sharedHost(t *testing.T) *host {
	t.Helper()
	shared.once.Do(func() {
		shared.t.TB = t
		h := newHost(&shared.t, "--gpus", "sim:8xh100", "--attribute", "ecs.instance-type=p5.48xlarge")
		h.registry = startDockerHub(&shared.t)
		shared.t.Cleanup(func() { h.down(teardownTB{t}) })
		h.start(t)
		shared.host = h
	})
	if shared.host == nil {
		t.Fatal("the shared host did not start; see the first test that asked for it")
	}
	return shared.host
}

// teardownFailed is set when something went wrong after the tests were over, when no test can fail any more.
var teardownFailed bool

// teardownTB stands in for a test that is over.
type teardownTB struct{ testing.TB }

func (teardownTB) Helper()      {}
func (teardownTB) Failed() bool { return false }
func (teardownTB) Errorf(format string, args ...any) {
	teardownFailed = true
	fmt.Printf(format+"\n", args...)
}

// startDockerHub starts a registry with the images that the documents name, all of them busybox inside, and returns a
// registry configuration that makes it the mirror of docker.io: so the documents' images go in verbatim.
func startDockerHub(t testing.TB) string {
	t.Helper()
	busybox := withConfig(t, containerdtest.Busybox(t), func(c *v1.Config) { c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"} })
	address := containerdtest.Registry(t, map[string]v1.Image{
		"nvidia/cuda:9.0-base":                        busybox,
		"nvidia/cuda:11.0-cudnn8-runtime-ubuntu20.04": busybox,
		"library/busybox:latest":                      busybox,
		"brentley/tensorflow-gpu:8904d11":             withConfig(t, busybox, func(c *v1.Config) { c.Cmd = []string{"sh", "-c", "nvidia-smi -L"} }),
		"greedy/all:1":                                withConfig(t, busybox, func(c *v1.Config) { c.Env = append(c.Env, "NVIDIA_VISIBLE_DEVICES=all") }),
		"arm/only:1":                                  forARM(t, busybox),
	})
	dir := t.TempDir()
	certs := filepath.Join(dir, "certs.d", "docker.io")
	if err := os.MkdirAll(certs, 0o755); err != nil {
		t.Fatal(err)
	}
	hosts := fmt.Sprintf("[host.\"http://%s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", address)
	if err := os.WriteFile(filepath.Join(certs, "hosts.toml"), []byte(hosts), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func withConfig(t testing.TB, image v1.Image, change func(*v1.Config)) v1.Image {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config := *file.Config.DeepCopy()
	change(&config)
	changed, err := mutate.Config(image, config)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// forARM is the same image for a machine of another kind.
func forARM(t testing.TB, image v1.Image) v1.Image {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	other := file.DeepCopy()
	other.Architecture = "arm64"
	changed, err := mutate.ConfigFile(image, other)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}
