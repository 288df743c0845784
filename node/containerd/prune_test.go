package containerd_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/containerd/containerd/v2/client"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
)

// TestUnusedImagesAreRemovedWhileTheDiskIsFull plays a disk that each removal empties a little, and a new start of Pinion,
// after which no image counts as used a moment ago.
func TestUnusedImagesAreRemovedWhileTheDiskIsFull(t *testing.T) {
	var full atomic.Bool
	h := newHost(t, func(c *containerd.Config) {
		c.DiskUsed = func() (float64, error) {
			if full.Load() {
				return 0.9, nil
			}
			return 0.5, nil
		}
	})
	busybox := containerdtest.Busybox(t)
	images := map[string]v1.Image{"busy:1": busybox}
	for _, name := range []string{"assigned:1", "unused:1"} {
		images[name] = containerdtest.Configured(t, busybox, func(c *v1.ConfigFile) { c.Config.WorkingDir = "/" + name })
	}
	addr := containerdtest.Registry(t, images)
	h.image = h.pull(addr + "/busy:1")
	c := h.start(sh("sleep 1000"))
	h.pull(addr + "/assigned:1")
	h.pull(addr + "/unused:1")
	here := func() string {
		t.Helper()
		var names []string
		for _, name := range h.imageNames() {
			if !strings.Contains(name, "@") {
				names = append(names, strings.TrimPrefix(name, addr+"/"))
			}
		}
		return strings.Join(names, " ")
	}
	prune := func(want string) {
		t.Helper()
		if err := h.runtime.Prune(h.ctx(), []string{addr + "/assigned:1"}); err != nil {
			t.Fatal(err)
		}
		if got := here(); got != want {
			t.Errorf("images are %s, want %s", got, want)
		}
	}
	prune("assigned:1 busy:1 unused:1") // there is room
	full.Store(true)
	prune("assigned:1 busy:1 unused:1") // all were used a moment ago
	h.runtime.Close()
	h.open()
	prune("assigned:1 busy:1")
	if names := strings.Join(h.imageNames(), " "); strings.Contains(names, "unused") {
		t.Errorf("a name of the removed image is left: %s", names)
	}
	if h.pidOf(c) == 0 {
		t.Error("the container does not run any more")
	}
	full.Store(false)
	h.pull(addr + "/unused:1") // it can come back
}

// imageNames lists every name that the image service has, in order.
func (h *host) imageNames() []string {
	h.t.Helper()
	c, err := client.New(h.address(), client.WithDefaultNamespace("pinion"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer c.Close()
	stored, err := c.ImageService().List(h.ctx())
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	for _, i := range stored {
		names = append(names, i.Name)
	}
	slices.Sort(names)
	return names
}
