package containerd_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pinion/node/containerd/containerdtest"
	"pinion/node/containerd/images"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A file of an image is read from its layers without a container, as programs of an upgrade are.
func TestAFileOfAnImageIsReadFromItsLayers(t *testing.T) {
	h := newHost(t)
	imported, err := h.admin().Import(h.ctx(), bytes.NewReader(saved(t, map[string]v1.Image{"team/app:1": containerdtest.Busybox(t)})), "")
	if err != nil || len(imported) != 1 {
		t.Fatalf("%+v, %v", imported, err)
	}
	var file bytes.Buffer
	if err := h.admin().File(h.ctx(), imported[0].Name, imported[0].Digest, "bin/busybox", &file); err != nil || !bytes.HasPrefix(file.Bytes(), []byte("\x7fELF")) {
		t.Errorf("%d bytes, %v", file.Len(), err)
	}
	for _, name := range []string{"bin/nothing", "bin", "../bin/busybox", ""} {
		file.Reset()
		if err := h.admin().File(h.ctx(), imported[0].Name, imported[0].Digest, name, &file); !errors.Is(err, images.ErrNoFile) || file.Len() > 0 {
			t.Errorf("%q: %d bytes, %v", name, file.Len(), err)
		}
	}
	if err := h.admin().File(h.ctx(), imported[0].Name, "sha256:"+strings.Repeat("0", 64), "bin/busybox", &file); err == nil {
		t.Error("an image that nobody has has a file")
	}
}
