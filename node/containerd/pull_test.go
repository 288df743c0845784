package containerd_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// requests counts the requests to a registry.
func requests(n *atomic.Int64) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			next.ServeHTTP(w, r)
		})
	}
}

func TestWhatIsHereCostsNoNetwork(t *testing.T) {
	h := newHost(t)
	var asked atomic.Int64
	addr := containerdtest.Serve(t, requests(&asked), map[string]v1.Image{"app:1": containerdtest.Busybox(t), "app:latest": containerdtest.Busybox(t)})
	first := h.pull(addr + "/app:1")
	if want := addr + "/app:1"; first.Ref != want || !strings.HasPrefix(first.Digest, "sha256:") {
		t.Errorf("image %+v, want %s", first, want)
	}
	h.pull(addr + "/app")
	asked.Store(0)
	if again := h.pull(addr + "/app:1"); again != first {
		t.Errorf("again: %+v", again)
	}
	if pinned := h.pull(addr + "/app@" + first.Digest); pinned.Digest != first.Digest {
		t.Errorf("by digest: %+v", pinned)
	}
	h.runtime.Close()
	h.open()
	h.pull(addr + "/app:1")
	if n := asked.Load(); n != 0 {
		t.Errorf("the registry was asked %d times", n)
	}
	h.pull(addr + "/app")
	if asked.Load() == 0 {
		t.Error("latest was not looked up")
	}
}

func TestLatestIsUsedFromHereWhenTheRegistryIsGone(t *testing.T) {
	h := newHost(t)
	gone := atomic.Bool{}
	addr := containerdtest.Serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if gone.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	}, map[string]v1.Image{"app:latest": containerdtest.Busybox(t)})
	first := h.pull(addr + "/app")
	gone.Store(true)
	if again := h.pull(addr + "/app"); again != first {
		t.Errorf("again: %+v", again)
	}
	if !strings.Contains(h.log.String(), "using the image that is here") {
		t.Error("the log does not say so")
	}
}

func TestAMirrorIsAsked(t *testing.T) {
	h := newHost(t)
	mirror := containerdtest.Registry(t, map[string]v1.Image{"team/app:1": containerdtest.Busybox(t)})
	h.configureRegistry("certs.d/registry.example.com/hosts.toml", fmt.Sprintf("server = \"http://%[1]s\"\n[host.\"http://%[1]s\"]\n  capabilities = [\"pull\", \"resolve\"]\n", mirror))
	if got := h.pull("registry.example.com/team/app:1"); got.Ref != "registry.example.com/team/app:1" {
		t.Errorf("image %+v", got)
	}
}

func (h *host) configureRegistry(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.config.RegistryConfig, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func TestCredentials(t *testing.T) {
	h := newHost(t)
	addr := containerdtest.Serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}, map[string]v1.Image{"private:1": containerdtest.Busybox(t)})
	_, err := h.runtime.Pull(h.ctx(), addr+"/private:1", nil)
	if err == nil || !strings.Contains(err.Error(), "needs credentials") || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("without: %v", err)
	}
	auth := base64.StdEncoding.EncodeToString([]byte("me:secret"))
	h.configureRegistry("config.json", fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, addr, auth))
	h.pull(addr + "/private:1")
	h.configureRegistry("config.json", "not json")
	if _, err := h.runtime.Pull(h.ctx(), addr+"/private:2", nil); err == nil || !strings.Contains(err.Error(), "docker login") {
		t.Errorf("damaged: %v", err)
	}
}

func TestPullErrorsSayWhatToDo(t *testing.T) {
	h := newHost(t, func(c *containerd.Config) { c.ConnectTimeout, c.StallTimeout = time.Second, time.Second })
	arm := containerdtest.Configured(t, containerdtest.Busybox(t), func(c *v1.ConfigFile) { c.Architecture = "riscv64" })
	addr := containerdtest.Serve(t, hangOnBlobs, map[string]v1.Image{"other:1": arm, "big:1": bigImage(t, 1<<20)})
	silent := silentServer(t)
	for name, c := range map[string]struct {
		ref  string
		want []string
	}{
		"not a name":       {"No Such/Image", []string{`"No Such/Image"`, "write it as"}},
		"unknown":          {addr + "/nothing:1", []string{addr + "/nothing:1", "no such image", "check its name"}},
		"nobody there":     {"127.0.0.1:1/app:1", []string{"127.0.0.1:1/app:1", "cannot be reached", "connection refused", "mirror"}},
		"it never answers": {silent + "/app:1", []string{silent, "cannot be reached"}},
		"it stops":         {addr + "/big:1", []string{addr + "/big:1", "sent nothing for 1s"}},
		"other machines":   {addr + "/other:1", []string{"is for linux/riscv64, this host is linux/"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.runtime.Pull(h.ctx(), c.ref, nil)
			for _, part := range c.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("it answers %v, want %q", err, part)
				}
			}
			t.Log(err)
		})
	}
}

// hangOnBlobs answers the beginning of a large blob and nothing more.
func hangOnBlobs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/big/blobs/") {
			w = &hangingWriter{ResponseWriter: w, left: 100_000, until: r.Context().Done()}
		}
		next.ServeHTTP(w, r)
	})
}

type hangingWriter struct {
	http.ResponseWriter
	left  int
	until <-chan struct{}
}

func (w *hangingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		w.ResponseWriter.(http.Flusher).Flush()
		<-w.until
	}
	return w.ResponseWriter.Write(p)
}

// bigImage has one layer with one file of that size that does not compress.
func bigImage(t *testing.T, size int64) v1.Image {
	t.Helper()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		var archive bytes.Buffer
		w := tar.NewWriter(&archive)
		w.WriteHeader(&tar.Header{Name: "big", Mode: 0o600, Size: size})
		io.CopyN(w, rand.NewChaCha8([32]byte{}), size)
		return io.NopCloser(&archive), w.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	return containerdtest.Configured(t, img, func(c *v1.ConfigFile) { c.OS, c.Architecture = "linux", goruntime.GOARCH })
}

// silentServer accepts connections and says nothing.
func silentServer(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

func TestPullsOfOneImageAreOnePullAndTellHowFarTheyAre(t *testing.T) {
	h := newHost(t)
	var asked sync.Map // part of a blob -> true
	var again atomic.Int64
	release := make(chan struct{})
	var once sync.Once
	addr := containerdtest.Serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/blobs/") {
				if _, known := asked.LoadOrStore(r.URL.Path+r.Header.Get("Range"), true); known {
					again.Add(1)
				}
				<-release
			}
			next.ServeHTTP(w, r)
		})
	}, map[string]v1.Image{"app:1": bigImage(t, 5<<20)})
	var pulls sync.WaitGroup
	var last [8]spec.Pull
	var images [8]runtime.Image
	for i := range last {
		pulls.Go(func() {
			var err error
			images[i], err = h.runtime.Pull(h.ctx(), addr+"/app:1", func(p spec.Pull) {
				if p.Total > 0 {
					once.Do(func() { close(release) }) // everybody is aboard by now, or joins a pull that is done
				}
				last[i] = p
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	pulls.Wait()
	for i := range last {
		if images[i] != images[0] {
			t.Errorf("images differ: %+v", images)
		}
		if p := last[i]; p.Total < 5<<20 || p.Done != p.Total || p.Image != addr+"/app:1" {
			t.Errorf("progress ends at %+v", p)
		}
	}
	if n := again.Load(); n > 0 {
		t.Errorf("%d parts of blobs were fetched more than once", n)
	}
}

func TestTheBuiltInImage(t *testing.T) {
	binary := containerdtest.FindTools(t).Logger // a static program that can stand for pinion
	h := newHost(t, func(c *containerd.Config) { c.BuiltinBinary = binary })
	h.image = h.pull("pinion/self")
	exit, out := h.run(func(c *runtime.ContainerSpec) { c.Def.Command = []string{"pinion", "alone"} })
	if exit.Code != 2 || !strings.Contains(out, "options come in pairs") {
		t.Errorf("exit %+v, output %q", exit, out)
	}
	h.runtime.Close()
	h.open()
	if again := h.pull("pinion/self:latest"); again != h.image {
		t.Errorf("the same binary makes another image: %+v", again)
	}
	raw, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, append(raw, "new"...), 0o755); err != nil {
		t.Fatal(err)
	}
	h.runtime.Close()
	h.open()
	if again := h.pull("pinion/self:latest"); again.Digest == h.image.Digest {
		t.Error("another binary makes the same image")
	}
}
