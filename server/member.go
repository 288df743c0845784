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
	Parts

	cfg       MemberConfig
	log       *slog.Logger
	poolCache *membership.PoolCache
	client    *http.Client // reaches servers alone by their addresses, and any host by its id
	anyHost   *http.Client // reaches any host of the pool, whose word alone counts for nothing
	peers     *rpc.Client
	leader    *rpc.LeaderTracker
	upstream  *dispatch.Upstream // of the agent here

	server  localServer
	auth    *peerAuthorizer
	role    *roleFollower
	session *sessionHost
	api     *peerAPI

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
	m.loops.Go(m.role.followRole)
	daily := backup.Daily{Dir: filepath.Join(cfg.Dir, "snapshots"), View: m.server.view, Now: m.cfg.Now, Log: m.log}
	m.loops.Go(func() { daily.Run(m.ctx) })
	own := m.admission()
	m.loops.Go(func() { m.cfg.Identity.KeepRenewed(m.ctx, own.renewCert) })
	m.loops.Go(func() { own.keepRootRecorded(m.ctx) })
	return m, nil
}

// newMember wires a member that is not of a pool yet.
func newMember(cfg MemberConfig) (*Member, error) {
	cfg.Now = cfg.now()
	cache, err := membership.OpenPoolCache(filepath.Join(cfg.Dir, poolCacheFile))
	if err != nil {
		return nil, err
	}
	m := &Member{cfg: cfg, log: cfg.Log, poolCache: cache, fatal: make(chan error, 1)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.auth = &peerAuthorizer{server: &m.server, cache: cache, log: m.log}
	m.client = (&peer.Dialer{Identity: cfg.Identity, Address: m.auth.addressOf, Authorize: m.auth.authorizeKey, Trusts: m.auth.checkServer}).HTTPClient()
	m.anyHost = (&peer.Dialer{Identity: cfg.Identity, Address: m.auth.addressOf, Authorize: m.auth.authorizeAny}).HTTPClient()
	m.peers = &rpc.Client{HTTP: m.client}
	m.leader = rpc.NewLeaderTracker(m.knownLeader)
	pool := &poolFollower{cfg: cfg, log: m.log, cache: cache, server: &m.server, leader: m.leader, anyHost: m.anyHost}
	m.role = &roleFollower{poolFollower: pool, peers: m.peers, auth: m.auth, fail: m.fail, loops: &m.loops, life: m.ctx}
	pool.setAside = func(outdated *Server) { m.loops.Go(func() { m.role.setServerAside(outdated) }) }
	m.session = &sessionHost{poolFollower: pool, role: m.role, auth: m.auth, fail: m.fail}
	m.upstream = dispatch.NewUpstream(m.session, cfg.Address, m.client, m.log)
	pool.upstream = m.upstream
	m.Parts = m.parts()
	m.api = &peerAPI{auth: m.auth, server: &m.server, leader: m.Leadership, dispatcher: dispatch.NewDispatcher(m.session, m.log), cache: cache, port: cfg.Port, now: cfg.Now, log: m.log}
	cfg.Port.SetAuthorizer(m.auth.authorizePeer)
	m.serveListener("other hosts", cfg.Port.Peer(), m.api.peerHandler())
	m.serveListener("joining hosts", cfg.Port.Join(), admission.JoinHandler(m.api.admitHost, m.api.removalOf, cfg.Port.ReportRefusal, cfg.Now, m.log))
	return m, nil
}

// admission is how this host gets into its pool, and stays there.
func (m *Member) admission() hostAdmission {
	return hostAdmission{cfg: m.cfg, log: m.log, cache: m.poolCache, leader: m.Leadership}
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
func (m *Member) HandleAPI(h http.Handler) { m.api.handlers.api.Store(&h) }

// Agent is what the agent of this host needs of the pool.
func (m *Member) Agent() *dispatch.Upstream { return m.upstream }

// resume determines this host's role from its data directory.
func (m *Member) resume(ctx context.Context) error {
	os.RemoveAll(m.cfg.trashDir()) // what an earlier wipe could not finish
	_, err := os.Stat(filepath.Join(m.cfg.raftDir(), "server.json"))
	hasRaft := err == nil
	_, err = os.Stat(watermarkOf(m.cfg.raftDir()))
	hadRaft := err == nil // this host was a server, and has not ceased to be one
	m.admission().rejoin(ctx)
	switch {
	case m.cfg.Join != "" && !hasRaft && (!m.poolCache.BelongsToPool() || !m.cfg.Identity.Ready()):
		return m.admission().join(ctx)
	case m.poolCache.BelongsToPool() && !hasRaft && hadRaft:
		return m.role.startServer(ctx, true) // it says what is missing
	case m.poolCache.BelongsToPool() && !hasRaft:
		if !m.cfg.Identity.Ready() {
			return m.admission().explainNoCertificate(ctx)
		}
		return nil
	case m.poolCache.BelongsToPool():
		return m.role.startServer(ctx, true)
	}
	if _, held := m.cfg.Identity.CA(); !held {
		return errJoinIncomplete
	}
	return m.role.startServer(ctx, false)
}

// errJoinIncomplete is the error of a host that has a pool's certificate but no record of the pool's servers.
var errJoinIncomplete = errors.New("this host was let into a pool and ended before it could write down where the pool's servers are: " +
	"start it once more with `pinion up --join ADDR --token-file FILE`, it will be known again")

func (c MemberConfig) raftDir() string { return filepath.Join(c.Dir, "raft") }

// watermarkOf is the file that tells an older copy of a raft directory: see consensus.Config.
func watermarkOf(raftDir string) string { return raftDir + ".watermark" }

// trashDir is the name that a raft directory gets before its removal.
func (c MemberConfig) trashDir() string { return filepath.Join(c.Dir, "raft.wiped") }

// Close closes the membership; the agent must have stopped.
func (m *Member) Close() error {
	var err error
	m.once.Do(func() {
		m.cancel()
		m.upstream.Close()
		err = m.role.close()
		m.loops.Wait()
		m.client.CloseIdleConnections()
		m.anyHost.CloseIdleConnections()
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

// localServer is this host's server, nil while it is an agent.
func (m *Member) localServer() *Server { return m.server.Load() }

// knownLeader is the leader as this host knows it: from its own server, or from the server that it has a session with.
func (m *Member) knownLeader() (address string, self bool) {
	if own := m.server.Load(); own != nil {
		if address, self = own.Leader(); address != "" || own.node.Raft().State() != raft.Follower {
			return address, self // a candidate and the next leader: the session names the leader of before
		}
	}
	if address = m.poolCache.PoolInfo().Leader; address == m.cfg.Address {
		return "", false // the session may still name the leader that this server has lost
	}
	return address, false
}

// PoolID is the pool that this host belongs to.
func (m *Member) PoolID() string { return m.poolCache.PoolInfo().Pool }
