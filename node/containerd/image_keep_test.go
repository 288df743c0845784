package containerd_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/raftfsm/blob"
)

// leaderSays is a pool of this host alone whose leader says what it keeps.
type leaderSays struct {
	mu    sync.Mutex
	kept  []blob.Image
	named []blob.Image // by the host, last
}

func (l *leaderSays) Ask(_ context.Context, r blob.Request) (blob.Answer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Images != nil {
		l.named = r.Images.List
	}
	grants := make([]blob.Sources, len(r.Wants))
	for i := range grants {
		grants[i].Whole = true
	}
	return blob.Answer{Epoch: "one", Grants: grants, AgainMillis: 10, Kept: &blob.Images{List: l.kept}}, nil
}

func (l *leaderSays) Changed() <-chan struct{} { return nil }

func (l *leaderSays) Read(context.Context, string, string, int64, int64) (io.ReadCloser, int64, error) {
	return nil, 0, errors.New("there is no other host")
}

func (l *leaderSays) knows(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.named, func(i blob.Image) bool { return i.Name == name })
}

// TestAHostKeepsWhatThePoolKeeps has the leader name an image: the host gets it, tells that it has it, and does not remove it until the
// leader names it no longer, also when the disk is full and after a new start.
func TestAHostKeepsWhatThePoolKeeps(t *testing.T) {
	h := newHost(t, func(c *containerd.Config) { c.DiskUsed = func() (float64, error) { return 0.99, nil } })
	busybox := containerdtest.Busybox(t)
	address := containerdtest.Registry(t, map[string]v1.Image{"kept:1": busybox})
	digest, err := busybox.Digest()
	if err != nil {
		t.Fatal(err)
	}
	leader := &leaderSays{kept: []blob.Image{{Name: address + "/kept:1", Digest: digest.String()}}}
	containerd.UsePeers(h.runtime, leader)
	h.until(func() bool { return leader.knows(address + "/kept@" + digest.String()) })
	h.until(h.keepsImages)

	h.runtime.Close()
	h.open() // no image counts as used a moment ago now
	if _, err := h.admin().Prune(h.ctx(), false); err != nil {
		t.Fatal(err)
	}
	if err := h.runtime.Prune(h.ctx(), nil); err != nil {
		t.Fatal(err)
	}
	if len(h.imageNames()) == 0 {
		t.Fatal("an image that the pool keeps was removed")
	}

	leader.mu.Lock()
	leader.kept = nil
	leader.mu.Unlock()
	containerd.UsePeers(h.runtime, leader)
	h.until(func() bool {
		would, err := h.admin().Prune(h.ctx(), true)
		if err != nil {
			t.Fatal(err)
		}
		return len(would) > 0
	})
	if len(h.imageNames()) == 0 {
		t.Fatal("a dry run removed an image")
	}
	if removed, err := h.admin().Prune(h.ctx(), false); err != nil || len(removed) != 1 || len(h.imageNames()) != 0 {
		t.Errorf("removed %v, left %v: %v", removed, h.imageNames(), err)
	}
}

// until waits for something to be so.
func (h *host) until(so func() bool) {
	h.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx := h.ctx(); !so(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			h.t.Fatalf("it is not so; the log of the host:\n%s", h.log)
		}
	}
}

// keepsImages reports whether containerd has images that the pool keeps.
func (h *host) keepsImages() bool {
	h.t.Helper()
	daemon, err := client.New(h.address())
	if err != nil {
		h.t.Fatal(err)
	}
	defer daemon.Close()
	kept, err := daemon.ImageService().List(namespaces.WithNamespace(h.ctx(), h.config.Namespace), `labels."pinion.kept"`)
	if err != nil {
		h.t.Fatal(err)
	}
	return len(kept) > 0
}
