package api

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

var slowClients = flag.Int("slow-clients", 1000, "clients of TestSlowClientsCostWhatTheirConnectionsCost")

const (
	// Of one client: the goroutine of its connection, the one that notices its end, and one for a deadline.
	goroutinesPerClient = 3
	// The buffers of a connection, an answer of 30 kB, and what the kernel does not show.
	bytesPerClient = 128 << 10
	// What a process gains by itself: idle goroutines of the runtime, caches.
	goroutinesLeft, bytesLeft = 10, 8 << 20
)

// slowBytes is how many bytes of a request or an answer come one by one.
const slowBytes = 64

const (
	slowRequest = "POST /v1/ListTasks HTTP/1.1\r\nHost: pinion\r\nAuthorization: Bearer " + keyID + ":" + secret + "\r\nContent-Length: 2\r\n\r\n{}"
	slowBody    = "POST /v1/ListTasks HTTP/1.1\r\nHost: pinion\r\nAuthorization: Bearer " + keyID + ":" + secret + "\r\nContent-Length: 66\r\n\r\n{}"
	largeAnswer = "POST /v1/ListClusters HTTP/1.1\r\nHost: pinion\r\nAuthorization: Bearer " + keyID + ":" + secret + "\r\nContent-Length: 2\r\n\r\n{}"
)

// slowClient sends or reads one byte with each call of step, until it has its answer.
type slowClient struct {
	net.Conn
	unsent string
	reads  bool // it has sent everything, and reads its answers a byte at a time
}

// kind is what a client is slow with.
type kind int

const (
	slowAnswers kind = iota
	slowHeaders
	slowBodies
)

// newSlowClient is the i-th client of a kind. It has one of 16 addresses.
func newSlowClient(t *testing.T, server net.Addr, slow kind, i int) *slowClient {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i%16))}}
	conn, err := dialer.DialContext(t.Context(), "tcp", server.String())
	if err != nil {
		t.Fatal(err)
	}
	c, first := &slowClient{Conn: conn}, ""
	switch slow {
	case slowAnswers: // 40 of 30 kB each, more than the kernel takes for it
		first, c.reads = strings.Repeat(largeAnswer, 40), true
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	case slowHeaders: // the last bytes are those of its headers and its two bytes of body
		first, c.unsent = slowRequest[:len(slowRequest)-slowBytes], slowRequest[len(slowRequest)-slowBytes:]
	case slowBodies:
		first, c.unsent = slowBody, strings.Repeat(" ", slowBytes)
	}
	if _, err := io.WriteString(conn, first); err != nil {
		t.Fatal(err)
	}
	return c
}

// step moves one byte. A machine that is busy may take longer than a request may last, so the server may have hung up.
func (c *slowClient) step() {
	switch {
	case c.reads:
		_, _ = c.Read(make([]byte, 1))
	case c.unsent != "":
		_, _ = io.WriteString(c.Conn, c.unsent[:1])
		c.unsent = c.unsent[1:]
	}
}

// answered reports whether the client has got what it asked for.
func (c *slowClient) answered() bool {
	answer, err := http.ReadResponse(bufio.NewReader(c.Conn), nil)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// use is what the process has in use.
type use struct{ goroutines, bytes int }

func useNow() use {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return use{goroutines: runtime.NumGoroutine(), bytes: int(stats.HeapInuse + stats.StackInuse)}
}

// Clients that send their headers, send their bodies or read their answers one byte at a time, from several addresses, cost what
// their connections cost, hold no place among the requests in flight, of which there are eight, and leave nothing behind.
func TestSlowClientsCostWhatTheirConnectionsCost(t *testing.T) {
	b, address := newSlowServer(t)
	limits := b.config.Shared.limits
	honest := func() { // who tries again while the eight places are taken for a moment, by answers that are being made
		t.Helper()
		wait(t, "an honest client is answered", func() bool {
			got := sendSigned(t, address)
			if got != http.StatusOK && got != http.StatusServiceUnavailable {
				t.Fatalf("beside the slow clients an honest one is answered %d", got)
			}
			return got == http.StatusOK
		})
	}
	honest()
	before := useNow()
	var clients []*slowClient
	connect := func(slow kind) {
		for i := range *slowClients / 3 {
			c := newSlowClient(t, address, slow, i)
			t.Cleanup(func() { c.Close() })
			clients = append(clients, c)
		}
	}
	connect(slowAnswers)
	wait(t, "answers that nobody reads hold no place", func() bool { return limits.InFlight.Held() == 0 })
	connect(slowHeaders)
	connect(slowBodies)
	honest()
	wait(t, "all bodies are being read", func() bool { return limits.Bodies.Held() == int64(*slowClients/3) })
	for range slowBytes - 1 {
		honest()
		for _, c := range clients {
			c.step()
		}
		if held := limits.Open.Held(); held > int64(len(clients)) {
			t.Fatalf("%d requests of %d clients are open", held, len(clients))
		}
	}
	if now := useNow(); now.goroutines > before.goroutines+goroutinesPerClient*len(clients) || now.bytes > before.bytes+bytesPerClient*len(clients) {
		t.Errorf("before %+v, with %d slow clients %+v", before, len(clients), now)
	} else {
		t.Logf("a client costs %.1f goroutines and %d KiB", float64(now.goroutines-before.goroutines)/float64(len(clients)), (now.bytes-before.bytes)/len(clients)>>10)
	}
	finish(t, clients)
	wait(t, "nothing is left behind", func() bool {
		now := useNow()
		return limits.Open.Held()+limits.Bodies.Held()+limits.InFlight.Held() == 0 && now.goroutines <= before.goroutines+goroutinesLeft && now.bytes <= before.bytes+bytesLeft
	})
	honest()
}

// finish has every client send its last byte, take its answer and go.
func finish(t *testing.T, clients []*slowClient) {
	answered := 0
	for _, c := range clients {
		c.step()
		if !c.reads && c.answered() {
			answered++
		}
		c.Close()
	}
	t.Logf("%d of %d clients had their answer after their last byte; the others were reading it, or had taken too long", answered, len(clients))
}

// newSlowServer serves a port of every loopback address, to those who have a key.
func newSlowServer(t *testing.T) (*fixture, net.Addr) {
	b := newFixture(t)
	b.config.Trusted, b.config.Shared = false, NewShared()
	b.config.Shared.limits.InFlight = httpx.AddressSemaphore{Size: 8}
	for n := range 120 {
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: fmt.Sprintf("%0240d", n), Status: spec.ClusterActive}})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- Serve(ctx, l, b.config) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return b, l.Addr()
}

// sendSigned is a request of a client that is as fast as it can be, on a connection of its own.
func sendSigned(t *testing.T, address net.Addr) int {
	t.Helper()
	conn, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, slowRequest)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.StatusCode
}

// wait polls until what is true.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("still not: %s", what)
		}
	}
}
