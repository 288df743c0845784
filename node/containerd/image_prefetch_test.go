package containerd_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
)

// A registry holds back the layers of one image: what is no longer wanted is pulled no further, and what is behind it comes then.
func TestImagesComeBeforeATaskNeedsThem(t *testing.T) {
	h := newHost(t, func(c *containerd.Config) { c.DiskUsed = func() (float64, error) { return 0.1, nil } })
	held, gone := make(chan struct{}), make(chan struct{}, 64)
	var asked atomic.Int64
	busybox := containerdtest.Busybox(t)
	address := containerdtest.Serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/held/") && strings.Contains(r.URL.Path, "/blobs/") {
				asked.Add(1)
				select {
				case <-held:
				case <-r.Context().Done():
					gone <- struct{}{}
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}, map[string]v1.Image{"held:1": busybox, "next:1": busybox})
	first, second := address+"/held:1", address+"/next:1"

	containerd.Prefetch(h.runtime, []string{first, second})
	h.until(func() bool { return asked.Load() > 0 })
	containerd.Prefetch(h.runtime, []string{second})
	<-gone
	has := func(repository string) func() bool {
		return func() bool { return strings.Contains(strings.Join(h.imageNames(), " "), repository) }
	}
	h.until(has("/next"))
	if has("/held")() {
		t.Error("the image is here whose layers the registry holds back")
	}
	close(held)
	containerd.Prefetch(h.runtime, []string{first})
	h.until(has("/held"))
}

func TestNothingComesBeforeItIsNeededToADiskThatIsNearlyFull(t *testing.T) {
	var asked atomic.Int64
	h := newHost(t, func(c *containerd.Config) {
		c.DiskUsed = func() (float64, error) { asked.Add(1); return 0.84, nil }
	})
	address := containerdtest.Registry(t, map[string]v1.Image{"model:1": containerdtest.Busybox(t)})
	containerd.Prefetch(h.runtime, []string{address + "/model:1"})
	h.until(func() bool { return asked.Load() > 0 })
	if err := h.runtime.Close(); err != nil { // waits for what goes on
		t.Fatal(err)
	}
	h.open()
	if names := h.imageNames(); len(names) > 0 {
		t.Errorf("there is %v", names)
	}
}
