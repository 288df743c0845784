package server

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"pinion/packaging/keystore"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/recovery"
)

// pool is several hosts in one process, each with a data directory, a port and certificates of its own.
type pool struct {
	t     *testing.T
	hosts []*testHost
	now   func() time.Time
}

// testHost is one host: its place in the pool, and an agent that only remembers.
type testHost struct {
	pool  *pool
	n     int
	dir   string
	where string                          // its address; kept over restarts
	wrap  func(net.Listener) net.Listener // what stands between it and its listener; nil for nothing
	cfg   MemberConfig
	clock func() time.Time // that it checks certificates by; nil: the pool's
	keys  *keystore.Store  // how it writes its keys; nil: in clear

	member *Member
	port   *peer.Port
	agent  *testAgent
}

// localServer is the server of a host, nil while it is an agent.
func (m *Member) localServer() *Server { return m.server.Load() }

// offline is a host that is closed, for the recovery of its pool.
func offline(h *testHost) recovery.Host {
	return recovery.Host{
		Dir: h.cfg.Dir, HostID: h.cfg.HostID, Address: h.cfg.Address, Identity: h.cfg.Identity, Now: h.cfg.Now, MinFree: h.cfg.Disk.MinFree, Reserve: h.cfg.Disk.Reserve, Log: h.cfg.Log,
	}
}

func newPool(t *testing.T) *pool { return &pool{t: t, now: time.Now} }

// host prepares another host. change, which may be nil, has a last look at its configuration.
func (p *pool) host(change func(*MemberConfig)) *testHost {
	n := len(p.hosts)
	h := &testHost{pool: p, n: n, dir: p.t.TempDir(), where: freeAddress(p.t)}
	h.cfg = MemberConfig{
		Dir: h.dir, HostID: fmt.Sprintf("%032x", n+1), PoolID: id.New(), Name: fmt.Sprint("host-", n), Version: "test",
		Log: testLog(p.t, fmt.Sprint("host-", n)), Now: p.now, Disk: MemberDisk{MinFree: 1, Reserve: 1 << 20},
	}
	if change != nil {
		change(&h.cfg)
	}
	p.hosts = append(p.hosts, h)
	return h
}

// freeAddress is where nobody listens. Its port is none that the kernel gives to others while the host is being started again.
func freeAddress(t *testing.T) (address string) {
	t.Helper()
	eventually(t, "a port is free", func() bool {
		address = fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		l, err := net.Listen("tcp", address)
		return err == nil && l.Close() == nil
	})
	return address
}

// start makes the host run until the test ends, or it is closed.
func (h *testHost) start() error {
	listener, err := net.Listen("tcp", h.where)
	if err != nil {
		return err
	}
	h.where = listener.Addr().String()
	if h.wrap != nil {
		listener = h.wrap(listener)
	}
	h.cfg.Address = h.where
	h.cfg.Identity, err = pki.OpenWith(h.dir+"/pki", h.cfg.HostID, []string{"127.0.0.1"}, pki.Options{Joining: h.cfg.Join != "", Log: h.cfg.Log, Now: h.certificateClock(), Keys: h.keys})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	h.port = peer.Listen(listener, h.cfg.Identity, h.cfg.Log)
	h.cfg.Port = h.port
	h.member, err = OpenMember(h.pool.t.Context(), h.cfg)
	if err != nil {
		h.member = nil
		return errors.Join(err, h.port.Close())
	}
	if h.agent == nil {
		h.agent = newAgent(h)
	}
	h.agent.start(h.member)
	member := h.member
	h.pool.t.Cleanup(func() { h.stop(member) })
	return nil
}

// stop closes the host, if it is still the one that was started.
func (h *testHost) stop(member *Member) {
	if h.member != member || member == nil {
		return
	}
	h.member = nil
	h.agent.stop()
	if err := member.Close(); err != nil {
		h.pool.t.Errorf("host %d: %v", h.n, err)
	}
	if err := h.port.Close(); err != nil {
		h.pool.t.Errorf("host %d: %v", h.n, err)
	}
}

func (h *testHost) close() { h.stop(h.member) }

func (h *testHost) certificateClock() func() time.Time {
	if h.clock != nil {
		return h.clock
	}
	return h.pool.now
}

// found starts the first host, and join more of them with a token.
func (p *pool) found(change func(*MemberConfig)) *testHost {
	p.t.Helper()
	h := p.host(change)
	if err := h.start(); err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *pool) join(n int) []*testHost {
	p.t.Helper()
	token := p.joinToken()
	var joined []*testHost
	for range n {
		h := p.host(func(c *MemberConfig) { c.Join, c.JoinToken = p.leader().where, token })
		if err := h.start(); err != nil {
			p.t.Fatal(err)
		}
		joined = append(joined, h)
	}
	return joined
}

func (p *pool) joinToken() string {
	p.t.Helper()
	token, err := p.leader().member.JoinTokens.CreateJoinToken(p.t.Context(), 0, 100, "", "")
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

// leader waits for a host that leads.
func (p *pool) leader() *testHost {
	p.t.Helper()
	var leader *testHost
	eventually(p.t, "somebody leads", func() bool {
		for _, h := range p.hosts {
			if h.member != nil && h.member.localServer() != nil && h.member.localServer().Leads() {
				leader = h
				return true
			}
		}
		return false
	})
	return leader
}

// followers are the other servers.
func (p *pool) followers() []*testHost {
	leader := p.leader()
	return slices.DeleteFunc(slices.Clone(p.hosts), func(h *testHost) bool {
		return h == leader || h.member == nil || h.member.localServer() == nil
	})
}

// voters are the servers that vote, as the leader has it.
func (p *pool) voters() int {
	voters := 0
	roles, err := p.leader().member.Hosts.Roles(p.t.Context())
	if err != nil {
		return 0
	}
	for _, role := range roles {
		if role == string(membership.RoleLeader) || role == string(membership.RoleServer) {
			voters++
		}
	}
	return voters
}

// waitForVoters waits until so many hosts vote, and everybody else has no Raft.
func (p *pool) waitForVoters(voters int) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%d hosts vote and the others have no log", voters), func() bool {
		servers := 0
		for _, h := range p.hosts {
			if h.member != nil && h.member.localServer() != nil {
				servers++
			}
		}
		return servers == voters && p.voters() == voters
	})
}

func (p *pool) view() *raftfsm.View {
	p.t.Helper()
	var view *raftfsm.View
	eventually(p.t, "a view", func() (done bool) {
		v, err := p.leader().member.View(p.t.Context())
		view = v
		return err == nil
	})
	return view
}

// checkAgreement waits until all servers hold the same state.
func (p *pool) checkAgreement() {
	p.t.Helper()
	eventually(p.t, "all servers hold the same state", func() bool {
		var first []byte
		for _, h := range p.hosts {
			if h.member == nil || h.member.localServer() == nil {
				continue
			}
			var state bytes.Buffer
			if err := h.member.localServer().state.View().WriteSnapshot(&state); err != nil {
				p.t.Fatal(err)
			}
			if first == nil {
				first = state.Bytes()
			}
			if !bytes.Equal(first, state.Bytes()) {
				return false
			}
		}
		return first != nil
	})
}

// run starts a task on a host of the pool's choice, or on the one named.
func (p *pool) run(on *testHost) *spec.Task {
	p.t.Helper()
	leader := p.leader().member.localServer()
	request := runOf(define(p.t, leader, 1))
	if on != nil {
		eventually(p.t, "the host is connected", func() bool { return p.leader().member.Connected(on.cfg.HostID) && p.view().Host(on.cfg.HostID) != nil })
		leader = p.leader().member.localServer()
		request.Hosts = []string{on.cfg.HostID}
	}
	result, err := leader.scheduler.Run(p.t.Context(), request)
	if err != nil || len(result.Tasks) != 1 {
		p.t.Fatal(result.Failures, err)
	}
	return result.Tasks[0]
}
