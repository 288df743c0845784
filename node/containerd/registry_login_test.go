package containerd_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/node/runtime"
	"pinion/raftfsm/blob"
)

const registryPassword = "correct horse battery staple"

// privateRegistry lets in who has the password, and nobody while it is closed.
func privateRegistry(t *testing.T, closed *atomic.Bool) (addr string) {
	return containerdtest.Serve(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			switch {
			case closed.Load():
				w.WriteHeader(http.StatusServiceUnavailable)
			case user != "me" || password != registryPassword:
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				w.WriteHeader(http.StatusUnauthorized)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}, map[string]v1.Image{"private:1": containerdtest.Busybox(t)})
}

// pretendingRegistry claims to have an image, and gives nothing of it.
func pretendingRegistry(t *testing.T, digest string) (addr string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || !strings.HasSuffix(r.URL.Path, digest) {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
		w.Header().Set("Content-Length", "500")
		w.Header().Set("Docker-Content-Digest", digest)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func (h *host) withLogin(user, password string) context.Context {
	return runtime.WithRegistryLogin(h.ctx(), runtime.RegistryLogin{Username: user, Password: password})
}

// An image that the credentials of one task have brought here is for tasks that its registry lets in, and the credentials stay nowhere.
func TestATaskBringsTheCredentialsOfItsRegistry(t *testing.T) {
	h := newHost(t)
	closed := &atomic.Bool{}
	ref := privateRegistry(t, closed) + "/private:1"
	refused := func(who string, ctx context.Context, ref string) {
		t.Helper()
		if _, err := h.runtime.Pull(ctx, ref, nil); err == nil || strings.Contains(err.Error(), registryPassword) {
			t.Errorf("%s: %v", who, err)
		}
	}
	refused("nobody has pulled it", h.ctx(), ref)
	refused("wrong credentials", h.withLogin("me", "guessed"), ref)
	image, err := h.runtime.Pull(h.withLogin("me", registryPassword), ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	byDigest := strings.TrimSuffix(ref, ":1") + "@" + image.Digest
	refused("a task without credentials", h.ctx(), ref)
	refused("by its digest", h.ctx(), byDigest)
	refused("with those of somebody else", h.withLogin("me", "guessed"), ref)
	pretender := pretendingRegistry(t, image.Digest) + "/private@" + image.Digest
	refused("by its digest, from a registry that has none of it", h.ctx(), pretender)
	refused("and with credentials of that one", h.withLogin("me", "mine"), pretender)
	h.image = image
	if exit, out := h.run(sh("echo runs")); out != "runs\n" {
		t.Errorf("the task: %+v %q", exit, out)
	}

	closed.Store(true)
	if _, err := h.runtime.Pull(h.withLogin("me", registryPassword), ref, nil); err != nil {
		t.Errorf("a restart while the registry is away: %v", err)
	}
	refused("a task without credentials while the registry is away", h.ctx(), ref)
	refused("and by its digest", h.ctx(), byDigest)
	closed.Store(false)
	h.wantNowhere(registryPassword)

	auth := base64.StdEncoding.EncodeToString([]byte("me:" + registryPassword))
	h.configureRegistry("config.json", fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, strings.Split(ref, "/")[0], auth))
	h.pull(ref)
	closed.Store(true)
	h.configureRegistry("config.json", `{}`)
	h.pull(ref) // it came by the host's own credentials, so it is for every task of the host
	h.pull(byDigest)
}

// otherHosts is a pool in which this host is told to fetch all by itself.
type otherHosts struct {
	mu   sync.Mutex
	told map[string]bool // which blobs this host said it has
}

func (o *otherHosts) Changed() <-chan struct{} { return nil }

func (o *otherHosts) Ask(_ context.Context, r blob.Request) (blob.Answer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, held := range r.Held {
		o.told[held] = true
	}
	return blob.Answer{Epoch: "1", Grants: slices.Repeat([]blob.Sources{{Whole: true}}, len(r.Wants)), AgainMillis: 10}, nil
}

func (o *otherHosts) Read(context.Context, string, string, int64, int64) (io.ReadCloser, int64, error) {
	return nil, 0, blob.ErrNotHere
}

// Another host that knows the digest of an image has it from here without the registry, unless the credentials of a task alone have brought it.
func TestOtherHostsGetNoImageThatATasksCredentialsBrought(t *testing.T) {
	h := newHost(t)
	others := &otherHosts{told: map[string]bool{}}
	serve := containerd.UsePeers(h.runtime, others)
	ref := privateRegistry(t, &atomic.Bool{}) + "/private:1"
	image, err := h.runtime.Pull(h.withLogin("me", registryPassword), ref, nil)
	if err != nil {
		t.Fatal(err)
	}
	manifest := func() int {
		answer, request := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		request.SetPathValue("digest", image.Digest)
		request.Header.Set("Range", "bytes=0-0")
		serve(answer, request, "other")
		return answer.Code
	}
	if status := manifest(); status != http.StatusNotFound {
		t.Errorf("another host that asks for the manifest is answered %d", status)
	}
	auth := base64.StdEncoding.EncodeToString([]byte("me:" + registryPassword))
	h.configureRegistry("config.json", fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, strings.Split(ref, "/")[0], auth))
	others.mu.Lock()
	if others.told[image.Digest] {
		t.Error("other hosts were told of the manifest")
	}
	others.mu.Unlock()
	h.pull(ref)
	if status := manifest(); status != http.StatusPartialContent {
		t.Errorf("the host's own login has it too, and the answer is %d", status)
	}
}

// wantNowhere looks for a text in all files of the host, and in its log.
func (h *host) wantNowhere(text string) {
	h.t.Helper()
	err := filepath.WalkDir(h.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.Contains(path, "/rootfs/") {
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(content), text) {
			h.t.Errorf("%s has it", path)
		}
		return nil
	})
	if err != nil || strings.Contains(h.log.String(), text) {
		h.t.Errorf("the log has it, or %v", err)
	}
}

// The credentials are for the registry of the image. Its mirror is asked without them, and so is another registry that it sends us to.
func TestTheCredentialsOfARegistryAreForItAlone(t *testing.T) {
	h := newHost(t)
	stolen := &atomic.Bool{}
	mirror := containerdtest.Serve(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, given := r.BasicAuth(); given || strings.Contains(r.URL.RawQuery+r.Header.Get("Authorization"), "me") {
				stolen.Store(true)
			}
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
		})
	}, nil)
	addr := privateRegistry(t, &atomic.Bool{})
	h.configureRegistry("certs.d/"+addr+"/hosts.toml", fmt.Sprintf("server = \"http://%s\"\n[host.\"http://%s\"]\n", addr, mirror))
	_, err := h.runtime.Pull(h.withLogin("me", registryPassword), addr+"/private:1", nil)
	if stolen.Load() || err != nil {
		t.Errorf("the mirror was given the credentials: %t; the pull: %v", stolen.Load(), err)
	}
}

// Two tasks that pull the same image at the same time, with and without credentials, are two pulls.
func TestPullsWithOtherCredentialsAreOtherPulls(t *testing.T) {
	h := newHost(t)
	ref := privateRegistry(t, &atomic.Bool{}) + "/private:1"
	const each = 4
	results := make(chan error, 2*each)
	for range each {
		go func() {
			_, err := h.runtime.Pull(h.withLogin("me", registryPassword), ref, nil)
			results <- err
		}()
		go func() {
			if _, err := h.runtime.Pull(h.ctx(), ref, nil); err == nil {
				results <- fmt.Errorf("a pull without credentials got the image")
				return
			}
			results <- nil
		}()
	}
	for range 2 * each {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}
