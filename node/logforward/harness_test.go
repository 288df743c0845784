package logforward

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/logs"
	"pinion/node/logs/record"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/traffic"
	"pinion/raftfsm/valuefrom"
)

var of = logs.ForwardedLog{Task: "0123456789abcdef", Container: "main"}

// written is the log of a container, as its logger writes it.
type written struct {
	t       *testing.T
	of      logs.ForwardedLog
	store   *logs.Store
	file    *os.File
	base    int64
	lines   int
	secrets func(context.Context, string, string, string, []valuefrom.Secret) (map[string]string, error) // of the pool
}

func newLog(t *testing.T) *written { t.Helper(); return newLogOf(t, of) }

func newLogOf(t *testing.T, of logs.ForwardedLog) *written {
	t.Helper()
	w := &written{t: t, of: of, store: logs.NewStore(filepath.Join(t.TempDir(), "logs"))}
	if err := os.MkdirAll(filepath.Dir(w.path()), 0o700); err != nil {
		t.Fatal(err)
	}
	w.open()
	return w
}

func (w *written) path() string { return w.store.Path(w.of.Task, w.of.Container) }

func (w *written) open() {
	f, err := os.OpenFile(w.path(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = unix.Flock(int(f.Fd()), unix.LOCK_SH)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.file = f
	w.t.Cleanup(func() { f.Close() })
}

// write writes a line.
func (w *written) write(text string) {
	w.t.Helper()
	raw := record.Append(nil, record.Record{Time: time.Unix(1_800_000_000, 0).UTC(), Stream: "stdout", Text: []byte(text)})
	if _, err := w.file.Write(raw); err != nil {
		w.t.Fatal(err)
	}
}

// add writes lines of the text and their numbers.
func (w *written) add(n int, text string) {
	w.t.Helper()
	var raw []byte
	for range n {
		raw = record.Append(raw, record.Record{Time: time.Unix(1_800_000_000, int64(w.lines)*1e6).UTC(), Stream: "stdout", Text: fmt.Appendf(nil, "%s%d", text, w.lines)})
		w.lines++
	}
	if _, err := w.file.Write(raw); err != nil {
		w.t.Fatal(err)
	}
}

// rotate begins another file, and keeps one of those before.
func (w *written) rotate() {
	w.t.Helper()
	info, err := w.file.Stat()
	if err != nil {
		w.t.Fatal(err)
	}
	w.base += info.Size()
	w.file.Close()
	if err := os.Rename(w.path(), w.path()+".1"); err != nil {
		w.t.Fatal(err)
	}
	w.open()
	if _, err := w.file.Write(record.AppendBase(nil, w.base)); err != nil {
		w.t.Fatal(err)
	}
}

// end is the end of the logger.
func (w *written) end() { w.file.Close() }

// forward begins to forward the log with a driver, as a host that allows those destinations does.
func (w *written) forward(driver string, options map[string]string, allowed ...string) *Forwarders {
	w.t.Helper()
	return w.forwardWith(logdriver.Configuration{LogDriver: driver, Options: options}, allowed...)
}

// forwardWith is forward with a configuration.
func (w *written) forwardWith(log logdriver.Configuration, allowed ...string) *Forwarders {
	w.t.Helper()
	f := w.forwarders(allowed...)
	n := forwardRecord{Log: log, Cluster: "lab", ID: w.of.Task + ".main", Short: w.of.Task[:12] + ".main", Image: "alpine:3", Extra: map[string]string{"team": "a"}}
	if _, err := f.begin(w.of, n, nil, true); err != nil {
		w.t.Fatal(err)
	}
	return f
}

// forwarders are the forwarders of a host that starts, with the files of the run before.
func (w *written) forwarders(allowed ...string) *Forwarders {
	w.t.Helper()
	f, err := New(Config{Store: w.store, Allowed: allowed, Virtual: traffic.DefaultVirtualRange, HostName: "gpu-1", Region: "eu-west-1", Secrets: w.secrets, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = f.Close() })
	return f
}

// said is the forwarder's own lines in the log of the container.
func (w *written) said() string {
	raw, _ := os.ReadFile(strings.TrimSuffix(w.path(), ".log") + ".forward.log")
	return string(raw)
}

// noted reports whether there is something left to send after a restart.
func (w *written) noted() bool {
	raw, err := w.store.ReadForwardRecord(w.of)
	return err == nil && json.Valid(raw)
}

// sent reports whether a forwarder after this one would find that all of the log is sent. What a destination has but has not answered
// is sent again.
func (w *written) sent() bool {
	var p position
	if err := p.open(w.store, w.of); err != nil {
		w.t.Fatal(err)
	}
	defer p.close()
	info, err := w.file.Stat()
	return err == nil && p.at == w.base+info.Size()
}

// eventually waits until it holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(30 * time.Second); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}

// receiver is a destination that keeps what it is sent, line by line.
type receiver struct {
	listener net.Listener
	mu       sync.Mutex
	got      []string
	conns    []net.Conn
}

// listen listens at an address; without read nothing is read from those who connect.
func listen(t *testing.T, network, address string, read bool) *receiver {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, l, read)
}

func serve(t *testing.T, l net.Listener, read bool) *receiver {
	t.Helper()
	r := &receiver{listener: l}
	t.Cleanup(r.close)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.conns = append(r.conns, conn)
			r.mu.Unlock()
			if read {
				go r.read(conn)
			}
		}
	}()
	return r
}

func (r *receiver) read(conn net.Conn) {
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		r.mu.Lock()
		r.got = append(r.got, in.Text())
		r.mu.Unlock()
	}
}

// close ends the receiver and its connections.
func (r *receiver) close() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
}

func (r *receiver) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got...)
}

func (r *receiver) address() string { return r.listener.Addr().String() }

// connections counts the connections so far.
func (r *receiver) connections() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}
