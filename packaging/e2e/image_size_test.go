package e2e

import (
	"archive/tar"
	"io"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"pinion/node/containerd/containerdtest"
)

// An image that is small on the way and larger than the disk unpacked is given up above the floor, with what it took, and the pool
// takes changes all the time.
func TestAnImageOfZerosLeavesRoomOnTheDisk(t *testing.T) {
	h := newHost(t, "--gpus", "none")
	mountSmallDisk(t, h.dir)
	address := containerdtest.Registry(t, map[string]v1.Image{"zeros:1": zerosImage(t, 1<<30)})
	h.start(t)
	before := freeBytes(t, h.dir)
	h.mustCall(t, "RegisterTaskDefinition", object{"family": "zeros", "networkMode": "none",
		"containerDefinitions": []object{{"name": "c", "image": address + "/zeros:1", "memory": 10, "command": []string{"true"}}}})
	task := h.waitStopped(t, h.runTask(t, "zeros"))
	if why := task.text("stoppedReason"); !strings.HasPrefix(why, "CannotPullContainerError: ") || !strings.Contains(why, "must stay free") || !strings.Contains(why, "--min-free") {
		t.Errorf("it stopped: %s", why)
	}
	h.mustCall(t, "CreateCluster", object{"clusterName": "after"})
	eventually(t, "the space that the image took is free again", func() bool { return freeBytes(t, h.dir) > before-64<<20 })
}

func freeBytes(t *testing.T, dir string) int64 {
	t.Helper()
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	return int64(disk.Bavail) * disk.Bsize
}

// zerosImage has one layer with one file of zeros.
func zerosImage(t *testing.T, size int64) v1.Image {
	t.Helper()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		in, out := io.Pipe()
		go func() {
			w := tar.NewWriter(out)
			err := w.WriteHeader(&tar.Header{Name: "zeros", Mode: 0o600, Size: size})
			if err == nil {
				_, err = io.CopyN(w, zeros{}, size)
			}
			if err == nil {
				err = w.Close()
			}
			out.CloseWithError(err)
		}()
		return in, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	return containerdtest.Configured(t, image, func(c *v1.ConfigFile) { c.OS, c.Architecture = "linux", goruntime.GOARCH })
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
