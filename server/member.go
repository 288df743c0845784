package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/keystore"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/backup"
	"pinion/server/consensus"
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

	Join      string // address of a host of the pool to join; without effect on a host that belongs to a pool [begin one]
	JoinToken string // what `pinion token` printed; needed with Join

	Cluster string // that this host was told to serve [that of the token]

	Servers           int           // of a pool that begins here: servers wanted, 1, 3 or 5 [3]
	ReplaceAfter      time.Duration // of a pool that begins here: a server gone for so long is replaced [5 min]
	TaskLostAfter     time.Duration // of a pool that begins here: a host silent for so long loses its tasks [60 s]
	DisconnectedAfter time.Duration // silence after which a host counts as disconnected [4 s]

	SecretsGiven func(admission.Retrieval) // is told of the secrets that hosts get for their tasks, where this host leads [nobody is]

	Now  func() time.Time // the clock that stamps records and judges liveness [time.Now]
	Disk MemberDisk       // what it takes of its disk
}

// MemberDisk bounds the use that a member makes of its disk.
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

// keys writes files with keys here, as those of the identity are written.
func (c MemberConfig) keys() *keystore.Store {
	if c.Identity == nil {
		return nil
	}
	return c.Identity.Keys
}

// Member is a host's membership in its pool: a server or an agent, as the pool decides; the role may change while it runs. The
// API and the agent of this host use the pool through it. It is safe for concurrent use.
type Member struct {
	APIBackend
	AgentBackend

	cfg       MemberConfig
	log       *slog.Logger
	poolCache *membership.PoolCache
	client    *http.Client // reaches servers alone by their addresses, and any host by its id
	anyHost   *http.Client // reaches any host of the pool, whose word alone counts for nothing
	leader    *rpc.LeaderTracker
	upstream  *dispatch.Upstream // of the agent here

	server    localServer
	auth      *membership.PeerAuthorizer
	role      *membership.RoleFollower
	lifecycle *serverLifecycle
	session   *sessionHost
	api       *peerAPI

	loops  sync.WaitGroup
	ctx    context.Context
	cancel context.CancelFunc
	once   sync.Once
	fatal  chan error
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
	m.loops.Go(func() { m.role.Run(m.ctx) })
	daily := backup.Daily{Dir: filepath.Join(cfg.Dir, "snapshots"), View: m.server.view, Now: m.cfg.Now, Log: m.log}
	m.loops.Go(func() { daily.Run(m.ctx) })
	m.loops.Go(func() { m.cfg.Identity.KeepRenewed(m.ctx, m.Admission.RenewCertificate) })
	own := m.admission()
	m.loops.Go(func() { own.KeepRootRecorded(m.ctx) })
	return m, nil
}

// newMember wires a member that is not of a pool yet.
func newMember(cfg MemberConfig) (*Member, error) {
	cfg.Now = cfg.now()
	cache, err := membership.OpenPoolCache(filepath.Join(cfg.Dir, membership.PoolCacheFile))
	if err != nil {
		return nil, err
	}
	m := &Member{cfg: cfg, log: cfg.Log, poolCache: cache, fatal: make(chan error, 1)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.auth = &membership.PeerAuthorizer{Servers: m.server.servers, Cache: cache, Log: m.log}
	m.client = (&peer.Dialer{Identity: cfg.Identity, Address: m.auth.AddressOf, Authorize: m.auth.AuthorizeKey, Trusts: m.auth.CheckServer}).HTTPClient()
	m.anyHost = (&peer.Dialer{Identity: cfg.Identity, Address: m.auth.AddressOf, Authorize: m.auth.AuthorizeAny}).HTTPClient()
	m.leader = rpc.NewLeaderTracker(m.knownLeader)
	m.followPool()
	leadership := rpc.NewLeadership(m.ctx, m.leader, &rpc.Client{HTTP: m.client})
	m.APIBackend = newAPIBackend(m, leadership)
	m.AgentBackend = newAgentBackend(m, leadership)
	cfg.Port.SetAuthorizer(m.auth.AuthorizePeer)
	m.serveHosts()
	return m, nil
}

// followPool wires what follows the pool: what hosts say of it, and the role that it gives this host.
func (m *Member) followPool() {
	cfg, peers, anyHost := m.cfg, &rpc.Client{HTTP: m.client}, rpc.ToAnyHost(m.anyHost)
	pool := &membership.PoolFollower{Cache: m.poolCache, Identity: cfg.Identity, Address: cfg.Address, Leader: m.leader, AnyHost: anyHost, CloseHost: cfg.Port.CloseHost, Log: m.log}
	m.lifecycle = &serverLifecycle{cfg: cfg, log: m.log, server: &m.server, pool: pool, auth: m.auth, leader: m.leader, peers: peers, anyHost: anyHost, fail: m.fail, loops: &m.loops, life: m.ctx}
	m.role = &membership.RoleFollower{HostID: cfg.HostID, Pool: pool, Peers: peers, Host: m.lifecycle, Log: m.log}
	m.session = &sessionHost{PoolFollower: pool, cfg: cfg, log: m.log, server: &m.server, role: m.role, auth: m.auth, fail: m.fail}
	m.upstream = dispatch.NewUpstream(m.session, cfg.Address, m.client, m.log)
	m.lifecycle.upstream, m.lifecycle.stopped = m.upstream, m.role.ForgetDesired
	pool.Recovered, pool.SetServerAside = m.upstream.ResetIndex, m.lifecycle.setServerAside
}

// serveHosts answers the hosts of the pool, and those that want to join it.
func (m *Member) serveHosts() {
	port := m.cfg.Port
	m.api = &peerAPI{
		router: &rpc.HostRouter{Callers: m.auth, Port: port}, server: &m.server, dispatcher: dispatch.NewDispatcher(m.session, m.log),
		cache: m.poolCache, ended: m.Ended, agent: m.AgentBackend,
	}
	removals := admission.Removals{
		IsMember: m.auth.IsMember, Authority: local(&m.server, func(s *Server) *admission.Authority { return s.authority }),
		Roots: func() spec.CARoots { return m.poolCache.PoolInfo().CA }, Log: m.log,
	}
	m.serveListener("other hosts", port.Peer(), m.api.handler())
	m.serveListener("joining hosts", port.Join(), admission.JoinHandler(m.Admission.AdmitHost, removals.Status, port.ReportRefusal, m.cfg.Now, m.log))
}

// admission gets this host into its pool, and keeps it admitted.
func (m *Member) admission() admission.HostAdmission {
	return admission.HostAdmission{
		Request: admission.Join{Address: m.cfg.Join, Token: m.cfg.JoinToken, HostID: m.cfg.HostID, Cluster: m.cfg.Cluster, Identity: m.cfg.Identity, Now: m.cfg.Now, Log: m.log},
		Address: m.cfg.Address, Pool: m.poolCache, IsSigned: m.session.IsSigned, Calls: m.Admission,
	}
}

// serveListener answers on one of the port's listeners until the member ends.
func (m *Member) serveListener(clients string, l net.Listener, h http.Handler) {
	m.loops.Go(func() {
		if err := peer.Serve(m.ctx, l, h, m.log); err != nil && m.ctx.Err() == nil {
			m.fail(fmt.Errorf("serving %s: %w", clients, err))
		}
		l.Close()
	})
}

// HandleAPI sets the handler for API requests that other hosts forward; their paths begin with /api/.
func (m *Member) HandleAPI(h http.Handler) { m.api.router.HandleAPI(h) }

// Agent is the connection of this host's agent to the control plane.
func (m *Member) Agent() *dispatch.Upstream { return m.upstream }

// resume determines this host's role from its data directory.
func (m *Member) resume(ctx context.Context) error {
	os.RemoveAll(m.cfg.trashDir()) // what an earlier wipe could not finish
	dir, own := consensus.DirIn(m.cfg.Dir), m.admission()
	_, err := os.Stat(filepath.Join(dir, "server.json"))
	hasRaft := err == nil
	_, err = os.Stat(consensus.WatermarkOf(dir))
	hadRaft := err == nil // this host was a server, and has not ceased to be one
	own.RejoinPool(ctx)
	switch {
	case m.cfg.Join != "" && !hasRaft && (!m.poolCache.BelongsToPool() || !m.cfg.Identity.Ready()):
		return own.JoinPool(ctx)
	case m.poolCache.BelongsToPool() && !hasRaft && hadRaft:
		return m.lifecycle.openServer(ctx, true) // it says what is missing
	case m.poolCache.BelongsToPool() && !hasRaft:
		if !m.cfg.Identity.Ready() {
			return own.ExplainNoCertificate(ctx)
		}
		return nil
	case m.poolCache.BelongsToPool():
		return m.lifecycle.openServer(ctx, true)
	}
	if _, held := m.cfg.Identity.CA(); !held {
		return errJoinIncomplete
	}
	return m.lifecycle.openServer(ctx, false)
}

// errJoinIncomplete is the error of a host that has a pool's certificate but no record of the pool's servers.
var errJoinIncomplete = errors.New("this host was let into a pool and ended before it could write down where the pool's servers are: " +
	"start it once more with `pinion up --join ADDR --token-file FILE`, it will be known again")

// trashDir is the name that a raft directory gets before its removal.
func (c MemberConfig) trashDir() string { return filepath.Join(c.Dir, "raft.wiped") }

// Close closes the membership; the agent must have stopped.
func (m *Member) Close() error {
	var err error
	m.once.Do(func() {
		m.cancel()
		m.upstream.Close()
		err = m.lifecycle.close()
		m.loops.Wait()
		m.client.CloseIdleConnections()
		m.anyHost.CloseIdleConnections()
		m.Blobs.Close()
	})
	return err
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

// knownLeader is the leader as this host knows it: from its own server, or from the server that it has a session with.
func (m *Member) knownLeader() (address string, self bool) {
	if own := m.server.Load(); own != nil {
		if address, self = own.Leader(); address != "" || isElecting(own.node.Raft()) {
			return address, self // the session names the previous leader
		}
	}
	if address = m.poolCache.PoolInfo().Leader; address == m.cfg.Address {
		return "", false // the session may still name the leader that this server has lost
	}
	return address, false
}

// electionTime is the time in which an election has its outcome. A server that is a candidate for longer does not hear a leader that others have.
const electionTime = 3 * time.Second

// isElecting reports whether a server stands for election, or has won one and is not ready to answer yet.
func isElecting(r *raft.Raft) bool {
	switch r.State() {
	case raft.Leader:
		return true
	case raft.Candidate:
		return time.Since(r.LastContact()) < electionTime
	}
	return false
}

// PoolID is the pool that this host belongs to.
func (m *Member) PoolID() string { return m.poolCache.PoolInfo().Pool }

// CertificateExpires is the end of the certificate of this host; zero while it has none.
func (m *Member) CertificateExpires() time.Time { return m.cfg.Identity.Expires() }
