package containerd_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/node/containerd/images"
)

// A pull ends above the floor of the disk, whether that is reached before it or while layers arrive.
func TestAPullStopsAboveTheFloorOfTheDisk(t *testing.T) {
	var free atomic.Int64
	h := newHost(t, func(c *containerd.Config) {
		c.Images = images.Limits{Floor: 512 << 20}
		c.DiskFree = func() (int64, error) { return free.Load(), nil }
	})
	fill := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/blobs/") {
				free.Store(100 << 20) // the disk fills, and the blob does not come
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	addr := containerdtest.Serve(t, fill, map[string]v1.Image{"big:1": containerdtest.Busybox(t)})
	for what, before := range map[string]int64{"at the floor already": 100 << 20, "while layers arrive": 1 << 30} {
		free.Store(before)
		_, err := h.runtime.Pull(h.ctx(), addr+"/big:1", nil)
		if err == nil || !strings.Contains(err.Error(), "this host's disk has 100 MiB free, and 512 MiB must stay free") || !strings.Contains(err.Error(), "--min-free") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// An image that nobody used for long goes with the disk half empty; one that a container has, or a task will need, stays.
func TestImagesThatWereNotUsedForLongAreRemoved(t *testing.T) {
	h := newHost(t, func(c *containerd.Config) {
		c.Images = images.Limits{MaxAge: time.Nanosecond}
		c.DiskUsed = func() (float64, error) { return 0.5, nil }
	})
	busybox := containerdtest.Busybox(t)
	stored := map[string]v1.Image{"busy:1": busybox}
	for _, name := range []string{"assigned:1", "unused:1"} {
		stored[name] = containerdtest.Configured(t, busybox, func(c *v1.ConfigFile) { c.Config.WorkingDir = "/" + name })
	}
	addr := containerdtest.Registry(t, stored)
	h.image = h.pull(addr + "/busy:1")
	h.start(sh("sleep 1000"))
	h.pull(addr + "/assigned:1")
	h.pull(addr + "/unused:1")
	prune := func(want string) {
		t.Helper()
		if err := h.runtime.Prune(h.ctx(), []string{addr + "/assigned:1"}); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, name := range h.imageNames() {
			if !strings.Contains(name, "@") {
				names = append(names, strings.TrimPrefix(name, addr+"/"))
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("images are %s, want %s", got, want)
		}
	}
	prune("assigned:1 busy:1 unused:1") // all were pulled a moment ago
	h.runtime.Close()
	h.open()
	prune("assigned:1 busy:1")
}

// A pull that loses its daemon goes on with the next one.
func TestAPullOutlivesContainerd(t *testing.T) {
	h := newHost(t)
	var once sync.Once
	kill := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/blobs/") {
				once.Do(func() {
					if err := syscall.Kill(h.daemonPID(), syscall.SIGKILL); err != nil {
						t.Error(err)
					}
				})
			}
			next.ServeHTTP(w, r)
		})
	}
	addr := containerdtest.Serve(t, kill, map[string]v1.Image{"app:1": containerdtest.Busybox(t)})
	if image := h.pull(addr + "/app:1"); image.Digest == "" {
		t.Errorf("image %+v", image)
	}
	if !strings.Contains(h.log.String(), "containerd went away during a pull") {
		t.Error("containerd did not go away")
	}
}
