package containerd_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/node/containerd/images"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// saved is an archive as `docker save` writes it.
func saved(t testing.TB, all map[string]v1.Image) []byte {
	t.Helper()
	byTag := map[name.Tag]v1.Image{}
	for tag, i := range all {
		parsed, err := name.NewTag(tag)
		if err != nil {
			t.Fatal(err)
		}
		byTag[parsed] = i
	}
	var archive bytes.Buffer
	if err := tarball.MultiWrite(byTag, &archive); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// ociFiles are the files of an OCI image layout, by their paths; annotations are those of its one image.
func ociFiles(t testing.TB, i v1.Image, annotations map[string]string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	path, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = path.AppendImage(i, layout.WithAnnotations(annotations))
	}
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	err = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		relative, _ := filepath.Rel(dir, path)
		files[relative], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func tarOf(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for path, content := range files {
		if err := archive.WriteHeader(&tar.Header{Name: path, Size: int64(len(content)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (h *host) admin() containerd.ImageAdmin { return containerd.NewImageAdmin(h.runtime) }

// TestAnArchiveIsAnImageWithoutARegistry takes an image through its life on a host that knows no registry.
func TestAnArchiveIsAnImageWithoutARegistry(t *testing.T) {
	h := newHost(t)
	busybox := containerdtest.Busybox(t)
	oci := tarOf(t, ociFiles(t, containerdtest.Configured(t, busybox, func(c *v1.ConfigFile) { c.Config.WorkingDir = "/tmp" }), map[string]string{"org.opencontainers.image.ref.name": "latest"}))
	for _, archive := range []struct {
		name, as, want string
		content        []byte
	}{
		{"docker save", "", "docker.io/team/app:1", saved(t, map[string]v1.Image{"team/app:1": busybox})},
		{"OCI layout", "other:2", "docker.io/library/other:2", oci},
	} {
		imported, err := h.admin().Import(h.ctx(), bytes.NewReader(archive.content), archive.as)
		if err != nil || len(imported) != 1 || imported[0].Name != archive.want || imported[0].Size == 0 {
			t.Fatalf("%s: %+v, %v", archive.name, imported, err)
		}
		one := imported[0]
		repository := one.Name[:strings.LastIndex(one.Name, ":")]
		h.image = h.pull(repository + "@" + one.Digest) // as a task whose digest the pool has resolved
		c := h.start(sh("echo it runs"))
		if exit, out := h.wait(c), h.output(c); exit.Code != 0 || out != "it runs\n" {
			t.Errorf("%s: %+v, %q", archive.name, exit, out)
		}
		if err := h.runtime.Remove(h.ctx(), c.ID); err != nil {
			t.Fatal(err)
		}
		var exported bytes.Buffer
		if err := h.admin().Export(h.ctx(), one.Name, one.Digest, &exported); err != nil {
			t.Fatal(err)
		}
		if err := h.admin().Remove(h.ctx(), one.Digest); err != nil {
			t.Fatal(err)
		}
		if err := h.admin().Remove(h.ctx(), one.Digest); !errors.Is(err, spec.ErrNotFound) {
			t.Errorf("%s: removed again: %v", archive.name, err)
		}
		if left := h.imageNames(); len(left) != 0 {
			t.Errorf("%s: %v is left", archive.name, left)
		}
		again, err := h.admin().Import(h.ctx(), &exported, "")
		if err != nil || len(again) != 1 || again[0].Name != one.Name || again[0].Digest != one.Digest {
			t.Errorf("%s: exported and imported again: %+v, %v", archive.name, again, err)
		}
		if err := h.admin().Remove(h.ctx(), one.Digest); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnImageIsPushedToARegistry(t *testing.T) {
	h := newHost(t)
	busybox := containerdtest.Busybox(t)
	imported, err := h.admin().Import(h.ctx(), bytes.NewReader(saved(t, map[string]v1.Image{"app:1": busybox})), "")
	if err != nil {
		t.Fatal(err)
	}
	address := containerdtest.Registry(t, nil)
	whole, err := h.admin().Push(h.ctx(), imported[0].Name, imported[0].Digest, address+"/mirror/app:2", nil)
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	ref, err := name.ParseReference(address + "/mirror/app:2")
	if err != nil {
		t.Fatal(err)
	}
	there, err := remote.Head(ref)
	if err != nil || there.Digest.String() != imported[0].Digest {
		t.Errorf("%v, %v", there, err)
	}
}

func TestAnImageInUseStays(t *testing.T) {
	h := newHost(t)
	imported, err := h.admin().Import(h.ctx(), bytes.NewReader(saved(t, map[string]v1.Image{"app:1": containerdtest.Busybox(t)})), "")
	if err != nil {
		t.Fatal(err)
	}
	h.image = runtime.Image{Ref: imported[0].Name, Digest: imported[0].Digest}
	h.pull("app@" + imported[0].Digest)
	h.start(sh("sleep 1000"))
	if err := h.admin().Remove(h.ctx(), imported[0].Digest); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("%v", err)
	}
	if removed, err := h.admin().Prune(h.ctx(), false); err != nil || len(removed) != 0 {
		t.Errorf("%v, %v", removed, err)
	}
}

// blobs counts containerd's blobs.
func (h *host) blobs() (n int) {
	h.t.Helper()
	err := filepath.WalkDir(filepath.Join(h.dir, "containerd", "root", "io.containerd.content.v1.content", "blobs"), func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	return n
}

// slowArchive calls a function when the middle of an archive is read.
type slowArchive struct {
	io.Reader
	left   int
	middle func()
}

func (s *slowArchive) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if s.left -= n; s.left < 0 && s.middle != nil {
		s.middle()
		s.middle = nil
	}
	return n, err
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestADiskThatFillsUpDuringAnImport(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 30)
	h := newHost(t, func(c *containerd.Config) {
		c.Images.Floor = 1 << 20
		c.DiskFree = func() (int64, error) { return free.Load(), nil }
	})
	archive := saved(t, map[string]v1.Image{"app:1": containerdtest.Busybox(t)})
	var header bytes.Buffer
	if err := tar.NewWriter(&header).WriteHeader(&tar.Header{Name: "blobs/sha256/endless", Size: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	endless := io.MultiReader(&header, zeros{})
	_, err := h.admin().Import(h.ctx(), &slowArchive{endless, 10 << 20, func() { free.Store(0) }}, "")
	if err == nil || !strings.Contains(err.Error(), "--min-free") {
		t.Errorf("%v", err)
	}
	if left := h.imageNames(); len(left) != 0 || h.blobs() != 0 {
		t.Errorf("%v and %d blobs are left", left, h.blobs())
	}
	free.Store(1 << 30)
	if _, err := h.admin().Import(h.ctx(), bytes.NewReader(archive), ""); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestOneArchiveAtATime(t *testing.T) {
	h := newHost(t)
	archive := saved(t, map[string]v1.Image{"app:1": containerdtest.Busybox(t)})
	_, err := h.admin().Import(h.ctx(), &slowArchive{bytes.NewReader(archive), len(archive) / 2, func() {
		if _, err := h.admin().Import(h.ctx(), bytes.NewReader(archive), ""); !errors.Is(err, images.ErrImporting) {
			t.Errorf("the second one: %v", err)
		}
	}}, "")
	if err != nil {
		t.Error(err)
	}
}
