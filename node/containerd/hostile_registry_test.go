package containerd_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	client "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/snapshots"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"pinion/node/containerd"
	"pinion/node/containerd/images"
	"pinion/node/runtime"
	"pinion/packaging/backoff"
)

var hostilePulls = flag.Int("hostile-pulls", 12, "how many pulls from hostile registries are tried")

// hostileCase is one pull from a registry that lies.
type hostileCase struct {
	name    string
	outcome outcome
	lie     func(o *origin) http.Handler
	seed    uint64
}

// hostileCases are n cases: each kind in turn, or some of all when there are fewer.
func hostileCases(n int) (all []hostileCase) {
	var kinds []hostileCase
	for _, f := range documentFaults {
		kinds = append(kinds, hostileCase{name: f.name, outcome: f.outcome, lie: f.lie.handler})
	}
	for _, f := range wireFaults {
		kinds = append(kinds, hostileCase{name: f.name, outcome: f.outcome, lie: f.lie})
	}
	for i := range n {
		c := kinds[i*max(1, len(kinds)/n)%len(kinds)]
		c.seed = uint64(i)
		all = append(all, c)
	}
	return all
}

// documentLie changes what a registry serves.
type documentLie func(o *origin)

func (lie documentLie) handler(o *origin) http.Handler {
	lie(o)
	return o
}

// stand is a registry that begins hostile and turns honest. It keeps the credentials that it is given.
type stand struct {
	handler atomic.Pointer[http.Handler]
	stolen  atomic.Bool
}

func (s *stand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, password, _ := r.BasicAuth(); password != "" || r.FormValue("password") != "" {
		s.stolen.Store(true)
	}
	(*s.handler.Load()).ServeHTTP(w, r)
}

func (s *stand) be(h http.Handler) { s.handler.Store(&h) }

// victim is a registry that this host has credentials for.
func (h *host) victim() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password == "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="victim"`)
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	h.t.Cleanup(server.Close)
	addr := strings.TrimPrefix(server.URL, "http://")
	h.configureRegistry("config.json", fmt.Sprintf(`{"auths":{%q:{"username":"me","password":"secret"}}}`, addr))
	return addr
}

// smallDisk is a directory with a file system of its own.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := shortDir(t)
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// Whatever a registry does, a pull ends in time with an error that names the image, or with the right image. It takes no memory to
// speak of, leaves nothing behind, gives nobody the credentials of another registry, and the next honest pull works.
func TestAHostileRegistryCostsNothingButItsOwnPull(t *testing.T) {
	h := newHostIn(t, smallDisk(t, "512m"), func(c *containerd.Config) {
		c.ConnectTimeout, c.StallTimeout = time.Second, 500*time.Millisecond
		c.Images = images.Limits{Floor: 128 << 20}
	})
	victim := h.victim()
	cases := hostileCases(*hostilePulls)
	t.Logf("%d cases", len(cases))
	var pulls errgroup.Group
	pulls.SetLimit(6) // most of them wait
	for _, c := range cases {
		pulls.Go(func() error {
			t.Run(fmt.Sprint(c.name, " ", c.seed), func(t *testing.T) { h.pullHostile(t, c, victim) })
			return nil
		})
	}
	pulls.Wait()
	for i, f := range diskFaults {
		t.Run(f.name, func(t *testing.T) {
			h.pullHostile(t, hostileCase{lie: f.lie.handler, seed: uint64(len(cases) + i)}, victim)
		})
	}
	if peak := peakMemory(t, h.daemonPID()); peak > 512<<20 {
		t.Errorf("containerd had %d MiB in memory", peak>>20)
	}
	if peak := peakMemory(t, os.Getpid()); peak > 1<<30 {
		t.Errorf("this process had %d MiB in memory", peak>>20)
	}
}

func (h *host) pullHostile(t *testing.T, c hostileCase, victim string) {
	s := &stand{}
	server := httptest.NewUnstartedServer(s)
	defer func() {
		if s.stolen.Load() {
			t.Error("it was given the credentials of another registry")
		}
	}()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	defer server.CloseClientConnections()
	build := func() *origin {
		o := newOrigin(rand.New(rand.NewPCG(c.seed, 7)))
		o.self, o.victim = strings.TrimPrefix(server.URL, "http://"), victim
		return o
	}
	s.be(http.NotFoundHandler())
	hostile := build()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/blobs" + r.URL.Path
		hostile.ServeHTTP(w, r)
	}))
	defer elsewhere.Close()
	hostile.elsewhere = strings.TrimPrefix(elsewhere.URL, "http://")
	s.be(c.lie(hostile))
	ref := fmt.Sprintf("%s/some/image%d:1", hostile.self, c.seed) // another case may have had this port
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h.waitForRoom(ctx, t)
	image, err := h.runtime.Pull(ctx, ref, nil)
	t.Log(err)
	switch {
	case ctx.Err() != nil:
		t.Fatal("the pull does not end")
	case err == nil && c.outcome == refused:
		t.Errorf("it was pulled: %+v", image)
	case err != nil && c.outcome == pulled:
		t.Errorf("it was refused: %v", err)
	case err != nil:
		checkRefusal(t, err, ref)
		h.checkNothingOf(t, hostile, ref)
		s.be(build())
		h.waitForRoom(ctx, t)
		if _, err := h.runtime.Pull(ctx, ref, nil); err != nil {
			t.Errorf("the next honest pull: %v", err)
		}
	}
}

// waitForRoom waits until what an earlier pull has filled the disk with is gone: containerd frees it a moment after the pull has ended.
func (h *host) waitForRoom(ctx context.Context, t *testing.T) {
	t.Helper()
	for poll := backoff.Poll(); ; {
		var disk unix.Statfs_t
		if err := unix.Statfs(h.config.Dir, &disk); err != nil {
			t.Fatal(err)
		}
		if free := int64(disk.Bavail) * disk.Bsize; free >= h.config.Images.Floor {
			return
		}
		if err := poll.Wait(ctx); err != nil {
			t.Fatal("a pull that failed leaves the disk full")
		}
	}
}

// checkRefusal holds an error to what people can read.
func checkRefusal(t *testing.T, err error, ref string) {
	t.Helper()
	text := err.Error()
	if !strings.Contains(text, ref) {
		t.Errorf("the error does not name the image: %.300s", text)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) {
		t.Errorf("the error is no plain text: %.300q", text)
	}
	if shown := runtime.Truncate(text); len(text) > 2000 || !strings.Contains(shown, ref) {
		t.Errorf("the error has %d bytes", len(text))
	}
}

// checkNothingOf looks for what a failed pull has left in containerd: content, unfinished content, snapshots, names.
func (h *host) checkNothingOf(t *testing.T, o *origin, ref string) {
	t.Helper()
	client, err := client.New(h.address(), client.WithDefaultNamespace(h.config.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx := t.Context()
	names := map[string]bool{}
	for d := range o.blobs {
		names[d] = true
	}
	err = client.ContentStore().Walk(ctx, func(info content.Info) error {
		if names[info.Digest.String()] {
			t.Errorf("content %s is left", info.Digest)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	unfinished, err := client.ContentStore().ListStatuses(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, s := range unfinished {
		if names[s.Expected.String()] || names["sha256:"+s.Ref[strings.LastIndex(s.Ref, ":")+1:]] {
			t.Errorf("unfinished content %s is left", s.Ref)
		}
	}
	if _, err := client.ImageService().Get(ctx, ref); err == nil {
		t.Error("the image has its name")
	}
	err = client.SnapshotService(h.config.Snapshotter).Walk(ctx, func(_ context.Context, info snapshots.Info) error {
		for diff := range o.diffIDs() {
			if strings.Contains(info.Name+info.Labels["containerd.io/snapshot.ref"], diff) {
				t.Errorf("snapshot %s is left", info.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib := 0
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
