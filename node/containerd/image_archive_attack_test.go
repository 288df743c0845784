package containerd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd/containerdtest"
	"pinion/node/containerd/images"
)

// hostileArchive is an archive that attacks, imported under a name.
type hostileArchive struct {
	name, as string
	content  func() []byte
}

// hostileArchives are of all kinds; the one of them with paths would make the file escape.
func hostileArchives(t *testing.T, escape string) []hostileArchive {
	busybox := containerdtest.Busybox(t)
	other := containerdtest.Configured(t, busybox, func(c *v1.ConfigFile) { c.Config.WorkingDir = "/tmp" })
	foreign := containerdtest.Configured(t, busybox, func(c *v1.ConfigFile) { c.Architecture = "s390x" })
	named := func(name string) map[string][]byte {
		return ociFiles(t, busybox, map[string]string{"io.containerd.image.name": name})
	}
	whole := func() map[string][]byte { return named("docker.io/library/app:1") }
	layer := layerPath(t, busybox)
	return []hostileArchive{
		{"no archive", "", func() []byte { return []byte(strings.Repeat("no archive ", 1000)) }},
		{"an empty archive", "", func() []byte { return tarOf(t, nil) }},
		{"cut off", "", func() []byte { all := tarOf(t, whole()); return all[:len(all)/2] }},
		{"a layer is missing", "", func() []byte { files := whole(); delete(files, layer); return tarOf(t, files) }},
		{"a layer is not what its digest says", "", func() []byte {
			files := whole()
			files[layer] = slices.Clone(files[layer])
			files[layer][len(files[layer])/2] ^= 1
			return tarOf(t, files)
		}},
		{"paths that lead out", "", func() []byte {
			return tarOf(t, map[string][]byte{"../../../../../../../.." + escape: []byte("x"), escape: []byte("x"), "manifest.json": []byte(`[{"Config":"../../../../etc/passwd","Layers":["../../../../etc/shadow"]}]`)})
		}},
		{"the image that hosts make by themselves", "pinion/self", func() []byte { return tarOf(t, whole()) }},
		{"that image by its own word", "", func() []byte {
			return tarOf(t, named("docker.io/pinion/self:latest"))
		}},
		{"a name that is none", "", func() []byte {
			return tarOf(t, named("../../x:1"))
		}},
		{"no name", "", func() []byte { return tarOf(t, ociFiles(t, busybox, nil)) }},
		{"two images for one name", "app:1", func() []byte {
			return saved(t, map[string]v1.Image{"a:1": busybox, "b:1": other})
		}},
		{"another platform", "", func() []byte {
			return saved(t, map[string]v1.Image{"a:1": foreign})
		}},
		{"documents without end", "", func() []byte {
			index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{}, "annotations": map[string]string{"a": strings.Repeat("x", 8<<20)}})
			if err != nil {
				t.Fatal(err)
			}
			return tarOf(t, map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index})
		}},
	}
}

// layerPath is the path of an image's first layer in an OCI image layout.
func layerPath(t *testing.T, i v1.Image) string {
	t.Helper()
	layers, err := i.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join("blobs", "sha256", digest.Hex)
}

// TestArchivesThatAreNone has archives that attack: nothing of them has a name afterwards, no file is made of their paths, and their
// blobs are gone.
func TestArchivesThatAreNone(t *testing.T) {
	h := newHost(t)
	escape := filepath.Join(t.TempDir(), "escaped")
	for _, c := range hostileArchives(t, escape) {
		t.Run(c.name, func(t *testing.T) {
			imported, err := h.admin().Import(h.ctx(), bytes.NewReader(c.content()), c.as)
			if !errors.Is(err, images.ErrArchive) || imported != nil {
				t.Errorf("%+v, %v", imported, err)
			}
			if left := h.imageNames(); len(left) != 0 {
				t.Errorf("%v has a name", left)
			}
			if blobs := h.blobs(); blobs != 0 {
				t.Errorf("%d blobs are left", blobs)
			}
			if _, err := os.Lstat(escape); err == nil {
				t.Error("the archive made a file")
			}
		})
	}
}

// brokenEnd fails where it ends, behind the end of the archive.
type brokenEnd struct{ io.Reader }

func (b brokenEnd) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("it is not what was signed")
	}
	return n, err
}

// TestAnArchiveIsReadToTheEndOfWhatWasSent has an archive that is whole, in a body that is not what its sender has signed: that shows at the
// end of the body alone.
func TestAnArchiveIsReadToTheEndOfWhatWasSent(t *testing.T) {
	h := newHost(t)
	archive := append(saved(t, map[string]v1.Image{"app:1": containerdtest.Busybox(t)}), make([]byte, 1<<20)...)
	if imported, err := h.admin().Import(h.ctx(), brokenEnd{bytes.NewReader(archive)}, ""); err == nil {
		t.Errorf("%v", imported)
	}
	if left := h.imageNames(); len(left) != 0 {
		t.Errorf("%v has a name", left)
	}
}
