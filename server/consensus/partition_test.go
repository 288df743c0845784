package consensus

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/watch"
)

const (
	simulatedPools   = 10
	simulatedTime    = time.Hour // of each
	simulatedServers = 5
)

// TestTenHoursOfPartitions is ten pools of five servers, each for an hour, in simulated time. The servers are whole
// ones, with the configuration of Raft that they always have, on real files; the network is a mesh whose links are cut
// at random, one way or both. Clients reach every server, also one that is cut off.
//
// Every write carries a mark and makes one register of it, so the state at the end is the only order in which things
// can have happened, and one pass over what clients were told finds whatever contradicts it: a write that is lost,
// doubled or misplaced, one that was refused and is there, a stale read.
//
// The test prints its seed, and PINION_SEED repeats the cuts and the clients' choices; what Raft itself draws, how long
// bytes are under way and how goroutines take turns differs from run to run.
func TestTenHoursOfPartitions(t *testing.T) {
	seed := seed(t)
	percent := debug.SetGCPercent(400) // hours are made of garbage
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	for n := range simulatedPools {
		t.Run(fmt.Sprint("pool ", n), func(t *testing.T) {
			t.Parallel()
			dir := memoryDir(t)
			synctest.Test(t, func(t *testing.T) {
				p := newSimulation(t, dir, seed+uint64(n), (*Node).View)
				p.behind = n == 0
				p.run(simulatedTime)
				p.report()
				for _, wrong := range p.verdict() {
					t.Error(wrong)
				}
			})
		})
	}
}

// TestPartitionsShowStaleReads is the same with servers that answer reads without asking whether they still lead: if
// that went unnoticed, the test above would prove nothing.
func TestPartitionsShowStaleReads(t *testing.T) {
	seed, dir := seed(t), memoryDir(t)
	synctest.Test(t, func(t *testing.T) {
		p := newSimulation(t, dir, seed, func(s *Node, _ context.Context) (*raftfsm.View, error) { return s.state.View(), nil })
		p.clients = 30
		p.run(5 * time.Minute)
		wrong := p.verdict()
		t.Logf("%d contradictions", len(wrong))
		if len(wrong) == 0 {
			t.Error("stale reads went unnoticed")
		}
	})
}

func seed(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("PINION_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("PINION_SEED: %v", err)
		}
	}
	t.Logf("PINION_SEED=%d", seed)
	return seed
}

// memoryDir is a directory without a disk behind it where the machine has one: what is tested here is not the disk.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "pinion-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// simulation is a pool whose network breaks, and what its clients were told.
type simulation struct {
	t       *testing.T
	seed    uint64
	mesh    *memNetwork
	servers []*Node
	reads   func(*Node, context.Context) (*raftfsm.View, error)
	clients int          // at any time
	behind  bool         // begin with leaveBehind
	strike  watch.Signal // something is about to break

	mu       sync.Mutex
	attempts []operation
	cuts     int
}

func newSimulation(t *testing.T, dir string, seed uint64, reads func(*Node, context.Context) (*raftfsm.View, error)) *simulation {
	p := &simulation{t: t, seed: seed, mesh: newMemNetwork(), reads: reads, clients: 3}
	for n := range simulatedServers {
		address := fmt.Sprint("server-", n)
		p.servers = append(p.servers, start(t, Config{
			Dir: fmt.Sprint(dir, "/", n), HostID: fmt.Sprintf("%032x", n), Address: address, PoolID: hostID, SkipBootstrap: n > 0,
			Log: testLog(address), MinFree: 1, Reserve: 1 << 20,
			Transport: p.mesh.transport(raft.ServerAddress(address)),
		}))
	}
	t.Cleanup(p.mesh.close) // before the servers are closed
	for _, s := range p.servers[1:] {
		id, address := raft.ServerID(s.cfg.HostID), raft.ServerAddress(s.cfg.Address)
		if err := p.servers[0].raft.AddVoter(id, address, 0, 0).Error(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run lets clients work while the network breaks, mends it, and waits until the servers agree.
func (p *simulation) run(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var all sync.WaitGroup
	for n := range p.clients {
		all.Go(func() { p.client(n).work(ctx) })
	}
	all.Go(func() { p.injectFaults(ctx) })
	all.Wait()
	p.mesh.set(func(route) bool { return false })
	p.converge()
}

// converge waits until a write goes through and every server holds the same state.
func (p *simulation) converge() {
	last := p.client(p.clients)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if last.write(context.Background()) == acknowledged {
			break
		}
		if time.Now().After(deadline) {
			p.t.Fatal("a minute after the network is whole nobody accepts a write")
		}
	}
	for deadline := time.Now().Add(time.Minute); !p.converged(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatal("a minute after the network is whole the servers hold different states")
		}
	}
}

// converged reports whether all servers have come equally far, to the same state.
func (p *simulation) converged() bool {
	var first []byte
	for _, s := range p.servers {
		if s.raft.AppliedIndex() != p.servers[0].raft.AppliedIndex() {
			return false
		}
		var state bytes.Buffer
		if err := s.state.View().WriteSnapshot(&state); err != nil {
			p.t.Fatal(err)
		}
		if first == nil {
			first = state.Bytes()
		}
		if !bytes.Equal(first, state.Bytes()) {
			return false
		}
	}
	return true
}

// verdict are the contradictions between what clients were told and what the servers hold.
func (p *simulation) verdict() []string {
	var kept []string
	view := p.servers[0].state.View()
	for n := 1; ; n++ {
		definition := view.Definition(fmt.Sprint(registerAttribute, ":", n))
		if definition == nil {
			return contradictions(p.attempts, kept)
		}
		kept = append(kept, definition.Containers[0].Name)
	}
}

// report says what the hour was like, and wants it to have been one.
func (p *simulation) report() {
	writes, reads := map[writeOutcome]int{}, 0
	for _, a := range p.attempts {
		if a.mark != "" {
			writes[a.told]++
		} else {
			reads++
		}
	}
	terms, snapshots := p.servers[0].raft.CurrentTerm(), p.mesh.snapshots.Load()
	p.t.Logf("%d cuts, %d terms, writes: %v, %d reads, %d snapshots sent", p.cuts, terms, writes, reads, snapshots)
	if p.cuts < 50 || terms < 50 || writes[acknowledged] < 200 || writes[unknown] < 5 || reads < 200 || p.behind && snapshots == 0 {
		p.t.Error("too little happened to prove anything")
	}
}
