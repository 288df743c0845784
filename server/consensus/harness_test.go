package consensus

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hostID = "0123456789abcdef0123456789abcdef"

var day0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// config is a node that takes little disk.
func config(dir string) Config {
	return Config{Dir: dir, HostID: hostID, Address: "127.0.0.1:7400", Log: slog.New(slog.DiscardHandler), MinFree: 1, Reserve: 1 << 20}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// testLog says everything when PINION_TEST_LOG is set.
func testLog(name string) *slog.Logger {
	if os.Getenv("PINION_TEST_LOG") == "" {
		return quiet()
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("on", name)
}

// start opens a node that is closed when the test ends.
func start(t testing.TB, cfg Config) *Node {
	t.Helper()
	n, err := Open(t.Context(), cfg, Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// startGroup opens nodes that are all voters; the first one leads.
func startGroup(t *testing.T, size int) []*Node {
	t.Helper()
	return startGroupWith(t, size, func(*Config) {})
}

// startGroupWith is startGroup of nodes whose configuration is changed.
func startGroupWith(t *testing.T, size int, change func(*Config)) []*Node {
	t.Helper()
	var (
		nodes      []*Node
		transports []*raft.InmemTransport
	)
	for i := range size {
		address, transport := raft.NewInmemTransport(raft.ServerAddress(fmt.Sprint("server-", i)))
		transport.Connect(address, transport)
		for _, other := range transports {
			other.Connect(address, transport)
			transport.Connect(other.LocalAddr(), other)
		}
		transports = append(transports, transport)
		cfg := config(t.TempDir())
		cfg.HostID, cfg.Address, cfg.PoolID = fmt.Sprintf("%032x", i), string(address), hostID
		cfg.Transport, cfg.SkipBootstrap = transport, i > 0
		change(&cfg)
		nodes = append(nodes, start(t, cfg))
		if i > 0 {
			if err := nodes[0].Raft().AddVoter(raft.ServerID(cfg.HostID), address, 0, 0).Error(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return nodes
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("it never is so that " + what)
		}
	}
}
