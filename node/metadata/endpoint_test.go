package metadata

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"
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
	answer, err := c.Get("http://" + hostPort + path)
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
	e, err := open(namespace, New(Config{Log: slog.New(slog.DiscardHandler)}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	return e
}

func TestEachNamespaceHasItsOwnEndpoint(t *testing.T) {
	one, other := newNamespace(t), newNamespace(t)
	openIn(t, one)
	if _, err := inNamespace(t, other).Get("http://" + hostPort + "/"); err == nil {
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
	e.add(&container{id: "a", requests: newLimiter(), changes: rate.NewLimiter(rate.Inf, 1)})
	e.add(&container{id: "b", requests: newLimiter(), changes: rate.NewLimiter(1, 5)})
	client := inNamespace(t, namespace)
	put := func(id string) int { // a wrong body is refused before the pool is asked
		request, _ := http.NewRequest(http.MethodPut, "http://"+hostPort+"/api/"+id+"/task-protection/v1/state", strings.NewReader(strings.Repeat("x", 2*maxBody)))
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	for name, ask := range map[string]func() int{
		"a container":  func() int { return put("a") },
		"unknown ids":  func() int { status, _ := get(t, client, "/v4/unknown"); return status },
		"other places": func() int { status, _ := get(t, client, "/latest/meta-data"); return status },
	} {
		refused := 0
		for range 3 * requestBurst {
			if ask() == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused == 0 {
			t.Errorf("%s: there is no limit", name)
		}
	}
	if status := put("b"); status != http.StatusBadRequest {
		t.Errorf("another container: %d", status)
	}
	e.remove("a")
	if status, _ := get(t, client, "/v4/a"); status == http.StatusOK {
		t.Errorf("one that is gone: %d", status)
	}
}

// A packet from elsewhere over another interface is not answered, although Linux takes it.
func TestAnEndpointIsForItsLoopbackAlone(t *testing.T) {
	one, other := newNamespace(t), newNamespace(t)
	ip := func(namespace string, arguments ...string) {
		t.Helper()
		if out, err := exec.Command("nsenter", append([]string{"--net=" + namespace, "ip"}, arguments...)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v\n%s", arguments, err, out)
		}
	}
	ip(one, "link", "add", "here", "type", "veth", "peer", "name", "there", "netns", other)
	for namespace, device := range map[string]string{one: "here", other: "there"} {
		ip(namespace, "link", "set", device, "up")
	}
	ip(one, "addr", "add", "10.9.0.1/24", "dev", "here")
	ip(other, "addr", "add", "10.9.0.2/24", "dev", "there")
	ip(other, "route", "add", address, "via", "10.9.0.1")
	openIn(t, one)
	get(t, inNamespace(t, one), "/")
	if answer, err := inNamespace(t, other).Get("http://" + hostPort + "/"); err == nil {
		t.Errorf("a neighbour is answered: %s", answer.Status)
	}
}

// Every port of the namespace but its own is the container's, at all addresses.
func TestAnEndpointLeavesPort80ToItsContainer(t *testing.T) {
	namespace := newNamespace(t)
	openIn(t, namespace)
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		handle, err := netns.GetFromPath(namespace)
		if err == nil {
			defer handle.Close()
			err = netns.Set(handle)
		}
		if err == nil {
			var own net.Listener
			if own, err = net.Listen("tcp", ":80"); err == nil {
				own.Close()
			}
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// BenchmarkListen measures the cost of the endpoint for a start.
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
