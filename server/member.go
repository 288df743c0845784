package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pinion/packaging/keystore"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/backup"
	"pinion/server/dispatch"
	"pinion/server/history"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// MemberConfig is a host's place in a pool. Dir, HostID, Address, Identity, Port and Log are required; the default of
// everything else is in brackets.
type MemberConfig struct {
	Dir      string        // the data directory; raft/ and servers.json in it are the member's
	HostID   string        // this host's id, for ever
	PoolID   string        // of a pool that begins here [a new one]
	Address  string        // host:port under which other hosts reach this one
	Name     string        // host name, for people
	Version  string        // of pinion
	Starts   int64         // how often this host was started, which its peers compare with what they know [they do not]
	Identity *pki.Identity // opened with OpenJoining when Join is set
	Port     *peer.Port    // its Peer, Join and Raft listeners are the member's; it is told whom the member refuses
	Log      *slog.Logger

	Join  string // address of a host of the pool to join; without effect on a host that belongs to a pool [begin one]
	Token string // what `pinion token` printed; needed with Join

	Cluster string // that this host was told to serve [that of the token]

	Servers           int           // of a pool that begins here: servers wanted, 1, 3 or 5 [3]
	ReplaceAfter      time.Duration // of a pool that begins here: a server gone for so long is replaced [5 min]
	TaskLostAfter     time.Duration // of a pool that begins here: a host silent for so long loses its tasks [60 s]
	DisconnectedAfter time.Duration // silence after which a host counts as disconnected [4 s]

	SecretsGiven func(admission.Given) // is told of the secrets that hosts get for their tasks, where this host leads [nobody is]

	Now  func() time.Time // the clock that stamps records and judges liveness [time.Now]
	Disk MemberDisk       // what it takes of its disk
}

// MemberDisk is what a member takes of its disk.
type MemberDisk struct {
	MinFree   uint64         // see Config
	Reserve   int64          // see Config
	KeepTasks history.Limits // of the history of ended tasks [none: all are kept]
}

func (c MemberConfig) now() func() time.Time {
	if c.Now == nil {
		return time.Now
	}
	return c.Now
}

// keys is how files with keys are written here: as those of the identity are.
func (c MemberConfig) keys() *keystore.Store {
	if c.Identity == nil {
		return nil
	}
	return c.Identity.Keys
}

// Member is a host's membership in its pool: a server or an agent, as the pool decides; the role may change while it runs. The
// API and the agent of this host use the pool through it. It is safe for concurrent use.
type Member struct {
	cfg        MemberConfig
	log        *slog.Logger
	poolCache  *membership.PoolCache
	client     *http.Client // reaches servers alone by their addresses, and any host by its id
	anyHost    *http.Client // reaches any host of the pool, whose word alone counts for nothing
	peers      *rpc.Client
	leader     *rpc.LeaderTracker
	upstream   *dispatch.Upstream // of the agent here
	dispatcher *dispatch.Dispatcher

	server      atomic.Pointer[Server] // nil while this host is an agent
	desiredRole atomic.Pointer[bool]   // whether the pool wants a server here, as a session last said
	handlers    handlers
	roleMu      sync.Mutex     // held while the role changes
	refused     loggedRefusals // for Raft, for their keys or for their starts
	roleChanged rpc.Broadcast  // wakes followRole

	loops  sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
	fatal  chan error
}

// handlers are what other parts of this host answer the others with; nil until they are set.
type handlers struct {
	api      atomic.Pointer[http.Handler]
	blobs    atomic.Pointer[BlobHandler]
	prefetch atomic.Pointer[func(refs []string)]
}

// OpenMember opens this host's membership: it resumes the recorded one, joins the pool at Join, or creates a pool. When it
// returns, a sole server leads, a joining host is an admitted agent, and any other host is looking for its pool.
//
// It refuses what Open refuses, a token that the pool refuses (raftfsm.ErrToken..., ErrRemoved), and a server that is not
// of the token's pool (pki.ErrOtherPool).
func OpenMember(ctx context.Context, cfg MemberConfig) (*Member, error) {
	m, err := newMember(cfg)
	if err != nil {
		return nil, err
	}
	if err := m.resume(ctx); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.loops.Go(roleFollower{m}.followRole)
	daily := backup.Daily{Dir: filepath.Join(cfg.Dir, "snapshots"), View: m.serverView, Now: m.cfg.Now, Log: m.log}
	m.loops.Go(func() { daily.Run(m.ctx) })
	m.loops.Go(func() { m.cfg.Identity.KeepRenewed(m.ctx, hostAdmission{m}.renewCert) })
	m.loops.Go(hostAdmission{m}.keepRootRecorded)
	return m, nil
}

func newMember(cfg MemberConfig) (*Member, error) {
	cfg.Now = cfg.now()
	b, err := membership.OpenPoolCache(filepath.Join(cfg.Dir, poolCacheFile))
	if err != nil {
		return nil, err
	}
	m := &Member{cfg: cfg, log: cfg.Log, poolCache: b, fatal: make(chan error, 1)}
	m.client = (&peer.Dialer{Identity: cfg.Identity, Address: sessionHost{m}.addressOf, Authorize: peerAPI{m}.authorizeKey, Trusts: peerAPI{m}.checkServer}).HTTPClient()
	m.anyHost = (&peer.Dialer{Identity: cfg.Identity, Address: sessionHost{m}.addressOf, Authorize: peerAPI{m}.authorizeAny}).HTTPClient()
	m.peers = &rpc.Client{HTTP: m.client}
	m.leader = rpc.NewLeaderTracker(Leadership{m}.knownLeader)
	m.upstream = dispatch.NewUpstream(sessionHost{m}, cfg.Address, m.client, m.log)
	m.dispatcher = dispatch.NewDispatcher(sessionHost{m}, m.log)
	m.ctx, m.cancel = context.WithCancel(context.Background())
	cfg.Port.SetAuthorizer(peerAPI{m}.authorizePeer)
	peerAPI{m}.serveListener("other hosts", cfg.Port.Peer(), peerAPI{m}.peerHandler())
	peerAPI{m}.serveListener("joining hosts", cfg.Port.Join(), admission.JoinHandler(peerAPI{m}.admitHost, peerAPI{m}.removalOf, cfg.Port.ReportRefusal, cfg.Now, m.log))
	return m, nil
}

// resume determines this host's role from its data directory.
func (m *Member) resume(ctx context.Context) error {
	os.RemoveAll(m.trashDir()) // what an earlier wipe could not finish
	_, err := os.Stat(filepath.Join(m.raftDir(), "server.json"))
	hasRaft := err == nil
	_, err = os.Stat(watermarkOf(m.raftDir()))
	hadRaft := err == nil // this host was a server, and has not ceased to be one
	hostAdmission{m}.rejoin(ctx)
	switch {
	case m.cfg.Join != "" && !hasRaft && (!m.poolCache.BelongsToPool() || !m.cfg.Identity.Ready()):
		return hostAdmission{m}.join(ctx)
	case m.poolCache.BelongsToPool() && !hasRaft && hadRaft:
		return m.startServer(ctx, true) // it says what is missing
	case m.poolCache.BelongsToPool() && !hasRaft:
		if !m.cfg.Identity.Ready() {
			return hostAdmission{m}.explainNoCertificate(ctx)
		}
		return nil
	case m.poolCache.BelongsToPool():
		return m.startServer(ctx, true)
	}
	if _, held := m.cfg.Identity.CA(); !held {
		return errJoinIncomplete
	}
	return m.startServer(ctx, false)
}

// errJoinIncomplete is the error of a host that has a pool's certificate but no record of the pool's servers.
var errJoinIncomplete = errors.New("this host was let into a pool and ended before it could write down where the pool's servers are: " +
	"start it once more with `pinion up --join ADDR --token-file FILE`, it will be known again")

func (m *Member) raftDir() string { return filepath.Join(m.cfg.Dir, "raft") }

// watermarkOf is the file that tells an older copy of a raft directory: see consensus.Config.
func watermarkOf(raftDir string) string { return raftDir + ".watermark" }

// trashDir is the name that a raft directory gets before its removal.
func (m *Member) trashDir() string { return filepath.Join(m.cfg.Dir, "raft.wiped") }

// Close closes the membership; the agent must have stopped.
func (m *Member) Close() error {
	var err error
	m.once.Do(func() {
		m.cancel()
		m.upstream.Close()
		err = m.closeServer()
		m.loops.Wait()
		m.client.CloseIdleConnections()
		m.anyHost.CloseIdleConnections()
	})
	return err
}

func (m *Member) closeServer() error {
	m.roleMu.Lock()
	defer m.roleMu.Unlock()
	own := m.server.Swap(nil)
	if own == nil {
		return nil
	}
	own.servers.TransferOnShutdown()
	return own.Close()
}

// Fatal receives one error when this host cannot go on: a server's disk hangs or its log is damaged, or the host was
// removed from the pool. The process must end then, saying it.
func (m *Member) Fatal() <-chan error { return m.fatal }

func (m *Member) fail(err error) {
	select {
	case m.fatal <- err:
	default:
	}
}

// localServer is this host's server, nil while it is an agent.
func (m *Member) localServer() *Server { return m.server.Load() }

// addressOf returns the address of a host from the local server's state; empty when unknown.
func (h sessionHost) addressOf(hostID string) string {
	if own := h.m.localServer(); own != nil {
		if host := own.state.View().Host(hostID); host != nil {
			return host.Address
		}
	}
	return ""
}

// PoolID is the pool that this host belongs to.
func (m *Member) PoolID() string { return m.poolCache.PoolInfo().Pool }

// isMemberHost reports whether the host still belongs to the pool.
func (a peerAPI) isMemberHost(hostID string) bool {
	if own := a.m.localServer(); own != nil && own.state.View().Removed(hostID) {
		return false
	}
	return !a.m.poolCache.IsRemoved(hostID)
}

// removalOf tells whether a host was removed; a server signs that.
func (a peerAPI) removalOf(hostID string) admission.RemovalStatus {
	status := admission.RemovalStatus{HostID: hostID, Removed: !a.isMemberHost(hostID)}
	if own := a.m.localServer(); own != nil && status.Removed {
		signature, err := own.signWithCA(admission.RemovalText(hostID))
		if err != nil {
			a.m.log.Debug("the removal of a host cannot be signed here", "id", hostID, "error", err)
		}
		status.Signature, status.CA = signature, a.m.poolCache.PoolInfo().CA
	}
	return status
}

// updatePoolInfo stores a pool info from this host's own server or from another one. When it has a newer incarnation, this
// host's positions in the old one are reset, and a server of the old one ends.
func (h sessionHost) updatePoolInfo(o spec.PoolInfo, own *Server) {
	removed := h.m.poolCache.PoolInfo().Removed
	accepted, newer, err := h.m.poolCache.Update(o)
	if err != nil {
		h.m.log.Warn("cannot write down where the pool's servers are", "error", err)
	}
	if !accepted {
		return
	}
	if len(o.CA.Newest) > 0 {
		if err := h.m.cfg.Identity.Roots().Trust(o.CA); err != nil {
			h.m.log.Error("the roots of the pool's CA that a server tells are not taken over", "error", err)
		}
	}
	if newer {
		h.m.upstream.ResetIndex()
		if outdated := h.m.localServer(); outdated != nil && own == nil {
			h.m.loops.Go(func() { roleFollower(h).setServerAside(outdated) })
		}
	}
	h.m.leader.Refresh()
	for _, id := range o.Removed {
		if !slices.Contains(removed, id) {
			h.m.cfg.Port.CloseHost(id)
		}
	}
}
