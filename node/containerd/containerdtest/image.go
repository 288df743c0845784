// Package containerdtest gives tests a real containerd, an image to run on it, and a registry to pull from.
package containerdtest

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const busyboxPath = "/bin/busybox"

// Busybox is a small image made of this machine's busybox: a shell and the usual tools, root, and a user "nobody" (65534)
// that is also in the group "games" (60).
func Busybox(t testing.TB) v1.Image {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal("these tests need a static busybox: apt-get install busybox-static")
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		var archive bytes.Buffer
		err := writeBusybox(&archive, path)
		return io.NopCloser(&archive), err
	})
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	return Configured(t, img, func(c *v1.ConfigFile) {
		c.OS, c.Architecture = "linux", goarch
		c.Config.Env = []string{"PATH=/bin", "FROM_IMAGE=yes", "NVIDIA_VISIBLE_DEVICES=all"}
		c.Config.Cmd = []string{"sh"}
		c.Config.Labels = map[string]string{"pinion.exit": `{"code":0}`, "containerd.io/gc.root": "evil"}
	})
}

// Configured is the image with another configuration.
func Configured(t testing.TB, img v1.Image, change func(*v1.ConfigFile)) v1.Image {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	change(config)
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func writeBusybox(out io.Writer, path string) error {
	binary, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	applets, err := exec.Command(path, "--list").Output()
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	for _, dir := range []string{"bin", "etc", "tmp", "root"} {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o1777}); err != nil {
			return err
		}
	}
	for _, file := range []struct{ name, text string }{
		{"etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n"},
		{"etc/group", "root:x:0:\ngames:x:60:nobody\nnogroup:x:65534:\n"},
		{busyboxPath[1:], string(binary)},
	} {
		if err := archive.WriteHeader(&tar.Header{Name: file.name, Mode: 0o755, Size: int64(len(file.text))}); err != nil {
			return err
		}
		if _, err := io.WriteString(archive, file.text); err != nil {
			return err
		}
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		if applet == "busybox" {
			continue
		}
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox", Mode: 0o777}); err != nil {
			return err
		}
	}
	return archive.Close()
}
