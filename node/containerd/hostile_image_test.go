package containerd_test

import (
	"archive/tar"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"

	"pinion/node/containerd/containerdtest"
	"pinion/node/runtime"
)

var hostileImages = flag.Int("hostile-images", 6, "how many hostile images are pulled and run")

// canary is the content of a file of the host that no container may see.
const canary = "canary-7c1f2a"

// hostileImage is busybox with layers and a configuration that try to reach the host. host is the directory of the witnesses.
type hostileImage struct {
	name   string
	layers func(host string) [][]tar.Header // what is no header's own content is canary's opposite: "evil"
	config func(*v1.Config)
	spec   func(*runtime.ContainerSpec)
}

// Whatever is in an image, it runs in its container or is refused in time, the files of the host are what they were, and nothing of
// them shows in the container.
func TestAHostileImageReachesNothingOfTheHost(t *testing.T) {
	h := newHost(t)
	host := newWitnesses(t)
	before := witnesses(t, host)
	n := min(*hostileImages, len(hostileImageCases))
	for i := range n {
		c := hostileImageCases[i*len(hostileImageCases)/n]
		t.Run(c.name, func(t *testing.T) {
			started, out := h.runHostile(t, c, host)
			t.Logf("%v %.300q", started, out)
			if strings.Contains(out, canary) {
				t.Error("it sees the host")
			}
			if now := witnesses(t, host); now != before {
				t.Errorf("files of the host have changed:\n%s\nbefore\n%s", now, before)
			}
		})
	}
	h.image = h.withBusybox().image
	if exit, out := h.run(sh("echo well")); exit.Code != 0 || out != "well\n" {
		t.Errorf("the next honest image: %+v %q", exit, out)
	}
}

// newWitnesses makes a directory that stands for the host's: a file with a secret, a user and an empty directory.
func newWitnesses(t *testing.T) string {
	t.Helper()
	host := t.TempDir()
	for name, text := range map[string]string{"secret": canary, "passwd": "hostuser:x:4242:4242::/:/bin/sh\n", "full/file": canary} {
		path := filepath.Join(host, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return host
}

// witnesses describes the files of the host that a hostile image would change.
func witnesses(t *testing.T, host string) string {
	t.Helper()
	var all strings.Builder
	note := func(path string) {
		var stat unix.Stat_t
		err := unix.Lstat(path, &stat)
		content, _ := os.ReadFile(path)
		fmt.Fprintf(&all, "%s: %v mode %o owner %d:%d links %d changed %d %q\n", path, err, stat.Mode, stat.Uid, stat.Gid, stat.Nlink, stat.Ctim.Nano(), content)
	}
	err := filepath.WalkDir(host, func(path string, _ os.DirEntry, err error) error { note(path); return err })
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/etc", "/etc/passwd", "/etc/shadow", "/etc/hosts", "/etc/resolv.conf", "/bin/busybox", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/evil", "/tmp/evil"} {
		note(path)
	}
	return all.String()
}

// probe prints what a container sees at the places where a hostile image has put something.
const probe = `for f in /secret /link /d /d/secret /etc/hosts /etc/resolv.conf /etc/passwd /hard /mem /mnt/secret /proc/self/cwd/secret ./secret ../secret ../../secret; do [ -f $f ] && head -c 200 $f; done; ls -la / /d/ /mnt/ 2>&1 | head -100; echo > /etc/resolv.conf; echo evil > /d/secret; [ -p /link ] || echo evil > /link; head -c 10 /mem; echo looked`

// runHostile pulls the image and runs it to its end. What it answers when that fails is the error.
func (h *host) runHostile(t *testing.T, c hostileImage, host string) (started bool, out string) {
	t.Helper()
	addr := containerdtest.Registry(t, map[string]v1.Image{"evil:1": hostileImageOf(t, c, host)})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	image, err := h.runtime.Pull(ctx, addr+"/evil:1", nil)
	if ctx.Err() != nil {
		t.Fatalf("the pull does not end: %v", err)
	}
	if err != nil {
		return false, err.Error()
	}
	dir := t.TempDir()
	spec := h.task(sh(probe), func(s *runtime.ContainerSpec) {
		s.Image, s.HostsFile, s.ResolvFile = image, filepath.Join(dir, "hosts"), filepath.Join(dir, "resolv.conf")
	})
	for _, path := range []string{spec.HostsFile, spec.ResolvFile} {
		if err := os.WriteFile(path, []byte("# of the host\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if c.spec != nil {
		c.spec(&spec)
	}
	if err := h.runtime.Start(ctx, spec); ctx.Err() != nil {
		t.Fatalf("the start does not end: %v", err)
	} else if err != nil {
		return false, err.Error()
	}
	if _, err := h.runtime.Wait(ctx, spec.ID); err != nil {
		t.Fatalf("the container does not end: %v", err)
	}
	out = h.output(spec)
	if err := h.runtime.Remove(ctx, spec.ID); err != nil {
		t.Errorf("it cannot be removed: %v", err)
	}
	return true, out
}

func hostileImageOf(t *testing.T, c hostileImage, host string) v1.Image {
	t.Helper()
	img := containerdtest.Busybox(t)
	if c.layers != nil {
		for _, entries := range c.layers(host) {
			content := layerOf(entries)
			layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
			if err != nil {
				t.Fatal(err)
			}
			if img, err = mutate.AppendLayers(img, layer); err != nil {
				t.Fatal(err)
			}
		}
	}
	return containerdtest.Configured(t, img, func(f *v1.ConfigFile) {
		if c.config != nil {
			c.config(&f.Config)
		}
	})
}

// layerOf writes an archive as it is told, what no honest program would write included.
func layerOf(entries []tar.Header) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		content := ""
		if e.Typeflag == 0 || e.Typeflag == tar.TypeReg {
			content, e.Size = "evil", 4
			if text, given := e.PAXRecords["TEST.content"]; given {
				content, e.Size = text, int64(len(text))
				e.PAXRecords = nil
			}
		}
		if e.Mode == 0 {
			e.Mode = 0o777
		}
		if err := w.WriteHeader(&e); err != nil {
			panic(fmt.Sprint(e.Name, err))
		}
		io.WriteString(w, content)
	}
	w.Close()
	return out.Bytes()
}
