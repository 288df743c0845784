package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"pinion/node/proxy"
	"pinion/packaging/heap"
)

// measuredAt is the environment variable with which this program is the proxy that is measured: the port and the target.
const measuredAt = "PINION_MEASURED_PROXY"

func TestMain(m *testing.M) {
	if at := os.Getenv(measuredAt); at != "" {
		serveMeasured(at)
		return
	}
	os.Exit(m.Run())
}

func serveMeasured(at string) {
	port, address, _ := strings.Cut(at, " ")
	number, _ := strconv.Atoi(port)
	p := proxy.New(proxy.Config{Address: "127.0.0.1:7400", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Listen: func(port int) (net.Listener, error) { return net.Listen("tcp", fmt.Sprint("127.0.0.1:", port)) }})
	routing := toGroup(group("web", target(address)))
	routing.Listeners[0].Port = number
	p.Apply(routing)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	heap.Adjust(ctx) // as a host does
	<-ctx.Done()
}

const nginxConfig = `daemon off; master_process off; pid %[3]s/nginx.pid; error_log /dev/null;
events { worker_connections 1024; }
http { access_log off; client_body_temp_path %[3]s; proxy_temp_path %[3]s; fastcgi_temp_path %[3]s; uwsgi_temp_path %[3]s; scgi_temp_path %[3]s;
keepalive_requests 100000000; upstream web { server %[2]s; keepalive 64; keepalive_requests 100000000; }
server { listen 127.0.0.1:%[1]d; location / { proxy_pass http://web; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }
`

const haproxyConfig = `global
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option forwardfor
  option http-no-delay
  http-reuse always
frontend in
  bind 127.0.0.1:%[1]d
  default_backend web
backend web
  server web %[2]s
`

// contender is a way to the target: direct, or through a proxy that is a process of its own: HAProxy and nginx with one thread, Pinion with as many as Go takes.
type contender struct {
	name    string
	address string
	process *os.Process // nil: direct
}

// contenders starts all proxies in front of a target. They end with the benchmark.
func contenders(b *testing.B, to string) []contender {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	all := []contender{{name: "direct", address: to}}
	for _, name := range []string{"pinion", "haproxy", "nginx"} {
		port, directory := freePort(b), b.TempDir()
		file := filepath.Join(directory, "config")
		command := exec.Command(self)
		command.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", measuredAt, port, to))
		config := ""
		switch name {
		case "haproxy":
			command, config = exec.Command("haproxy", "-db", "-q", "-f", file), fmt.Sprintf(haproxyConfig, port, to)
		case "nginx":
			command, config = exec.Command("nginx", "-c", file), fmt.Sprintf(nginxConfig, port, to, directory)
		}
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			b.Fatal(err)
		}
		command.Stderr = os.Stderr
		if err := command.Start(); err != nil {
			b.Skipf("cannot start %s: %v; install the packages nginx and haproxy", name, err)
		}
		b.Cleanup(func() {
			_ = command.Process.Signal(syscall.SIGTERM)
			_ = command.Wait()
		})
		c := contender{name, fmt.Sprint("127.0.0.1:", port), command.Process}
		for begun := time.Now(); c.answers() != nil; runtime.Gosched() {
			if time.Since(begun) > 10*time.Second {
				b.Fatalf("%s does not listen", name)
			}
		}
		all = append(all, c)
	}
	return all
}

func (c contender) answers() error {
	conn, err := net.Dial("tcp", c.address)
	if err == nil {
		conn.Close()
	}
	return err
}

func freePort(b *testing.B) int {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// cpu is the time on processors that a contender has had, by the clock of its process (clock_getcpuclockid(3)).
func (c contender) cpu() time.Duration {
	if c.process == nil {
		return 0
	}
	const scheduled = 2 // CPUCLOCK_SCHED: nanoseconds, not ticks
	var had unix.Timespec
	_ = unix.ClockGettime(int32(^c.process.Pid<<3|scheduled), &had)
	return time.Duration(had.Nano())
}

// tally is the measurements of a contender.
type tally struct {
	took []time.Duration
	cpu  time.Duration
}

func (t *tally) percentile(p int) float64 {
	slices.Sort(t.took)
	return t.took[len(t.took)*p/100].Seconds()
}

// BenchmarkProxy sends small requests over kept connections, and asks for streams. Direct requests, Pinion, HAProxy and nginx take turns, so that
// what else the machine does hits all.
func BenchmarkProxy(b *testing.B) {
	answer, next := bytes.Repeat([]byte("x"), 1000), make(chan bool)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stream" {
			_, _ = w.Write(answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-next // the stream goes on until the client has the first piece
	}))
	defer web.Close()
	all := contenders(b, web.Listener.Addr().String())
	whole := func(body io.Reader) { _, _ = io.Copy(io.Discard, body) }
	firstByte := func(body io.Reader) { _, _ = body.Read(make([]byte, 1)) }
	const passes, each = 10, 2000
	for _, clients := range []int{1, 50} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			for b.Loop() {
				takeTurns(b, all, passes, func(address string) []time.Duration {
					return load(b, address, "/some/path", clients, each/clients, rate.Inf, whole)
				})
			}
		})
	}
	// At their own pace 50 clients leave the processors time: what is added is the proxy's work, not the queue for the processors.
	b.Run("clients=50,rate=2000", func(b *testing.B) {
		for b.Loop() {
			takeTurns(b, all, passes, func(address string) []time.Duration {
				return load(b, address, "/some/path", 50, each/50, 2000, whole)
			})
		}
	})
	b.Run("stream", func(b *testing.B) {
		for b.Loop() {
			takeTurns(b, all, passes, func(address string) []time.Duration {
				return load(b, address, "/stream", 1, each/10, rate.Inf, func(body io.Reader) { firstByte(body); next <- true })
			})
		}
	})
}

// takeTurns measures each contender so many times and reports.
func takeTurns(b *testing.B, all []contender, passes int, measure func(address string) []time.Duration) {
	tallies := map[string]*tally{}
	for _, c := range all {
		tallies[c.name] = &tally{}
		measure(c.address) // warm
	}
	for range passes {
		for _, c := range all {
			t, before := tallies[c.name], c.cpu()
			t.took = append(t.took, measure(c.address)...)
			t.cpu += c.cpu() - before
		}
	}
	report(b, tallies)
}

// load measures the time of each request, until answered has returned; the rest of the body is read after that. All clients together begin no
// more requests in a second than the limit.
func load(b *testing.B, address, path string, clients, each int, limit rate.Limit, answered func(io.Reader)) []time.Duration {
	pace := rate.NewLimiter(limit, 1)
	var all sync.WaitGroup
	took := make([][]time.Duration, clients)
	for i := range clients {
		all.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			reader := bufio.NewReader(conn)
			for range each {
				_ = pace.Wait(b.Context())
				begun := time.Now()
				_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
				answer, err := http.ReadResponse(reader, nil)
				if err != nil {
					b.Error(err)
					return
				}
				answered(answer.Body)
				took[i] = append(took[i], time.Since(begun))
				_, _ = io.Copy(io.Discard, answer.Body)
			}
		})
	}
	all.Wait()
	return slices.Concat(took...)
}

// report reports the time that each proxy adds to a direct request, and the requests that it carries in a second of one processor.
func report(b *testing.B, tallies map[string]*tally) {
	direct := tallies["direct"]
	for name, prefix := range map[string]string{"pinion": "", "haproxy": "haproxy-", "nginx": "nginx-"} {
		t := tallies[name]
		b.ReportMetric((t.percentile(50)-direct.percentile(50))*1e9, prefix+"added-p50-ns")
		b.ReportMetric((t.percentile(99)-direct.percentile(99))*1e9, prefix+"added-p99-ns")
		b.ReportMetric(float64(len(t.took))/t.cpu.Seconds(), prefix+"requests/CPU/s")
	}
	b.ReportMetric(0, "ns/op")
}
