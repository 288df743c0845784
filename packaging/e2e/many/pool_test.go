package many

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"pinion/node/containerd/containerdtest"
	"pinion/packaging/testbed"
)

// waitTimeout bounds every wait. It is generous: nothing here asserts speed.
const waitTimeout = 2 * time.Minute

// registryPort is where the switch serves images.
const registryPort = 5000

// pool is a testbed of hosts with a registry beside it.
type pool struct {
	*testbed.Testbed
	registryConfig string // of all hosts

	witness   string    // a folder that containers share, whatever host they are on; see volume
	key       accessKey // of an admin, with which every host answers; none before makeKey
	clients   sync.Map  // *client.Client to its unix socket, by host name
	agentLogs sync.Map  // *account of its log, by host name
}

// newPool makes the network of as many hosts as there are lists of flags, and starts none. The test's end takes all of
// it away.
func newPool(t *testing.T, flags ...[]string) *pool {
	t.Helper()
	return newPoolOn(t, 0, flags...)
}

// newPoolOn is newPool with a disk of so many bytes for each host, 0 for none of its own. Pools know nothing of one
// another, and mostly wait: their tests run at the same time.
func newPoolOn(t *testing.T, disk int64, flags ...[]string) *pool {
	t.Helper()
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("the end-to-end tests make containers: run them as root")
	}
	address := startRegistry(t)
	p := &pool{witness: t.TempDir()}
	p.registryConfig = t.TempDir()
	for i := range flags {
		flags[i] = append(flags[i], "--registry-config", p.registryConfig, "--log-level", "debug", "--volume", p.witness)
	}
	dir, err := os.MkdirTemp("", testbedPrefix)
	if err != nil {
		t.Fatal(err)
	}
	p.Testbed, err = testbed.New(testbed.Config{Dir: dir, Binary: binary(), Hosts: flags, Disk: disk})
	if err != nil {
		os.Remove(dir)
		t.Fatal(err)
	}
	t.Cleanup(func() { p.down(t) })
	p.serveDomain(t, "docker.io", registryPort, address)
	return p
}

// up is newPool with all hosts started and in one cluster.
func up(t *testing.T, flags ...[]string) *pool {
	t.Helper()
	p := newPool(t, flags...)
	p.up(t)
	return p
}

func (p *pool) up(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	must(t, p.Up(ctx))
	p.makeKey(t, p.Hosts()[0])
	p.waitConverged(t)
}

// accessKey is what `pinion keys create` prints.
type accessKey struct {
	ID     string `json:"accessKeyId"`
	Secret string `json:"secretAccessKey"`
}

// makeKey makes an access key: root of an agent has none that may change anything.
func (p *pool) makeKey(t testing.TB, on *testbed.Host) {
	t.Helper()
	text, err := on.Pinion("keys", "create", "--role", "admin", "-o", "json")
	must(t, err)
	must(t, json.Unmarshal([]byte(text), &p.key))
}

// undoFaults takes back whatever an earlier part has done to the hosts.
func (p *pool) undoFaults(t testing.TB) {
	t.Helper()
	must(t, p.Heal())
	var ended []*testbed.Host
	for _, h := range p.Hosts() {
		switch h.Status() {
		case "stopped":
			must(t, h.Resume())
		case "down":
			ended = append(ended, h)
		}
	}
	p.start(t, ended...)
	p.waitConverged(t)
}

// binary is what `make` has built, or what PINION_BINARY names.
func binary() string { return cmp.Or(os.Getenv("PINION_BINARY"), "../../../bin/pinion") }

func (p *pool) down(t *testing.T) {
	p.keepLogs(t)
	if t.Failed() {
		p.logOutputs(t)
	}
	dir := p.Dir
	if err := p.Down(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s is left", dir)
	}
	if mounts, _ := os.ReadFile("/proc/mounts"); strings.Contains(string(mounts), dir) {
		t.Errorf("mounts are left under %s", dir)
	}
}

// keepLogs copies what each pinion wrote into the folder that PINION_KEEP_LOGS names, if it does.
func (p *pool) keepLogs(t *testing.T) {
	keep := os.Getenv("PINION_KEEP_LOGS")
	if keep == "" {
		return
	}
	for _, h := range p.Hosts() {
		all, err := os.ReadFile(h.LogFile())
		if err == nil {
			err = os.WriteFile(filepath.Join(keep, t.Name()+"-"+filepath.Base(h.LogFile())), all, 0o644)
		}
		if err != nil {
			t.Log(err)
		}
	}
}

// logOutputs shows the last that each pinion wrote beside debug lines and requests: little, so that what failed is still on the screen.
func (p *pool) logOutputs(t *testing.T) {
	const lines, width = 2, 200
	for _, h := range p.Hosts() {
		all, _ := os.ReadFile(h.LogFile())
		var last []string
		for line := range strings.Lines(string(all)) {
			if !strings.Contains(line, " level=DEBUG ") && !strings.Contains(line, " msg=request ") {
				line = strings.TrimSpace(line)
				last = append(last[max(0, len(last)-lines+1):], line[:min(len(line), width)])
			}
		}
		t.Logf("%s (%s), the end of its output (PINION_KEEP_LOGS=DIR keeps all):\n%s", h.Name, h.Status(), strings.Join(last, "\n"))
	}
}

// startRegistry starts a registry on this machine with the images of the tests, all of them busybox inside.
func startRegistry(t *testing.T) (address string) {
	busybox := containerdtest.Configured(t, containerdtest.Busybox(t), func(c *v1.ConfigFile) { c.Config.Env = []string{"PATH=/bin"} })
	tensorflow := containerdtest.Configured(t, busybox, func(c *v1.ConfigFile) {
		c.Config.Cmd = []string{"sh", "-c", "trap 'exit 0' TERM; nvidia-smi -L; while :; do usleep 100000; done"}
	})
	return containerdtest.Serve(t, moveTag, map[string]v1.Image{
		"library/moving:v0":               versionImage(t, busybox, "0"),
		"library/moving:v1":               versionImage(t, busybox, "1"),
		"library/busybox:latest":          busybox,
		"nvidia/cuda:9.0-base":            busybox,
		"brentley/tensorflow-gpu:8904d11": tensorflow,
	})
}

// serveDomain makes the registry at address that of a domain for all hosts: a port on the switch leads to it.
func (p *pool) serveDomain(t *testing.T, domain string, port int, address string) {
	t.Helper()
	listener, err := p.Listen(port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go proxyConn(conn, address)
		}
	}()
	certs := filepath.Join(p.registryConfig, "certs.d", domain)
	hosts := fmt.Sprintf("[host.\"http://%s:%d\"]\n  capabilities = [\"pull\", \"resolve\"]\n", p.SwitchIP(), port)
	if err := os.MkdirAll(certs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(certs, "hosts.toml"), []byte(hosts), 0o644); err != nil {
		t.Fatal(err)
	}
}

func proxyConn(conn net.Conn, address string) {
	defer conn.Close()
	upstream, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	go func() { io.Copy(upstream, conn); upstream.Close() }()
	io.Copy(conn, upstream)
}

// eventually polls ok until it is true; for events in another process.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	eventuallyWithin(t, waitTimeout, what, ok)
}

// eventuallyWithin is eventually for what takes many steps.
func eventuallyWithin(t testing.TB, timeout time.Duration, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("after %v still not: %s", timeout, what)
		}
	}
}

// must stops the test when something that the test itself does to a host did not work.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts hosts again, all at once, and waits until they are ready, or the first of them has ended.
func (p *pool) start(t testing.TB, hosts ...*testbed.Host) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	for _, h := range hosts {
		must(t, h.StartDetached())
		group.Go(func() error { return h.Ready(ctx) })
	}
	must(t, group.Wait())
}
