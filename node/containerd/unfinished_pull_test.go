package containerd_test

import (
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/leases"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd/containerdtest"
)

// A process that was killed while it pulled leaves the beginning of a layer. The registry of this test knows no open ranges, as some do,
// so that the next pull cannot go on with it: it begins anew.
func TestAPullBeginsAnewWhenItCannotGoOnWithWhatAKilledProcessLeft(t *testing.T) {
	h := newHost(t)
	image := containerdtest.Busybox(t)
	h.leaveUnfinished(image)
	addr := containerdtest.Registry(t, map[string]v1.Image{"app:1": image})
	h.pull(addr + "/app:1")
	if !strings.Contains(h.log.String(), "begins anew") {
		t.Error("the pull did not meet what was left")
	}
}

// leaveUnfinished leaves in containerd what a pull of the image leaves whose process is killed.
func (h *host) leaveUnfinished(image v1.Image) {
	h.t.Helper()
	layers, err := image.Layers()
	must(h.t, err)
	digest, err := layers[0].Digest()
	must(h.t, err)
	c, err := client.New(h.address(), client.WithDefaultNamespace(h.config.Namespace))
	must(h.t, err)
	defer c.Close()
	lease, err := c.LeasesService().Create(h.ctx(), leases.WithRandomID(), leases.WithExpiration(time.Hour), leases.WithLabel("pinion.pull", "killed"))
	must(h.t, err)
	w, err := content.OpenWriter(leases.WithLease(h.ctx(), lease.ID), c.ContentStore(), content.WithRef("layer-"+digest.String()))
	must(h.t, err)
	_, err = w.Write([]byte("the beginning of a layer"))
	must(h.t, err)
	must(h.t, w.Close())
}
