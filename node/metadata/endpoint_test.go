package metadata

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// newNamespace makes a network namespace and returns its path.
func newNamespace(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("network namespaces need root")
	}
	path := filepath.Join(t.TempDir(), "netns")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
	return path
}

// inNamespace is a client that is in a network namespace.
func inNamespace(t testing.TB, path string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, to string) (conn net.Conn, err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			handle, failed := netns.GetFromPath(path)
			if failed == nil {
				defer handle.Close()
				failed = netns.Set(handle)
			}
			if err = failed; err == nil {
				conn, err = new(net.Dialer).DialContext(ctx, network, to)
			}
		}()
		<-done
		return conn, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t testing.TB, c *http.Client, path string) (int, string) {
	t.Helper()
	answer, err := c.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func openIn(t testing.TB, namespace string) *endpoint {
	t.Helper()
	e, err := open(namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	return e
}

func TestEachNamespaceHasItsOwnEndpoint(t *testing.T) {
	one, other := newNamespace(t), newNamespace(t)
	openIn(t, one)
	if _, err := inNamespace(t, other).Get("http://" + address + "/"); err == nil {
		t.Error("another namespace is answered")
	}
	openIn(t, other)
	for _, namespace := range []string{one, other} {
		if status, _ := get(t, inNamespace(t, namespace), "/v4/unknown"); status != http.StatusNotFound {
			t.Errorf("%d", status)
		}
	}
}

func TestAContainerAsksSoOften(t *testing.T) {
	namespace := newNamespace(t)
	e := openIn(t, namespace)
	e.add(&container{id: "a", requests: newLimiter()})
	e.add(&container{id: "b", requests: newLimiter()})
	client, refused := inNamespace(t, namespace), 0
	for range 3 * requestBurst { // a wrong body is refused before the pool is asked
		request, _ := http.NewRequest(http.MethodPut, "http://"+address+"/api/a/task-protection/v1/state", strings.NewReader(strings.Repeat("x", 2*maxBody)))
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 {
		t.Error("there is no limit")
	}
	e.remove("a")
	if status, _ := get(t, client, "/v4/a"); status != http.StatusNotFound {
		t.Errorf("one that is gone: %d", status)
	}
}

// BenchmarkListen is what the endpoint costs a start.
func BenchmarkListen(b *testing.B) {
	namespace := newNamespace(b)
	for b.Loop() {
		listener, err := listen(namespace)
		if err != nil {
			b.Fatal(err)
		}
		listener.Close()
	}
}
