package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"pinion/packaging/keystore"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/consensus"
	"pinion/server/dispatch"
	"pinion/server/history"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/metrics"
	"pinion/server/orchestrator"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/prefetch"
	"pinion/server/rpc"
	"pinion/server/scheduler"
	"pinion/server/seal"
	"pinion/server/tracker"
)

// Config of a server: that of its node, and what follows. The default is in brackets.
type Config struct {
	consensus.Config
	DisconnectedAfter time.Duration   // silence after which a host counts as disconnected [4 s]
	KeyringFile       string          // file of the keys that secrets in the state are sealed with [seal.key in Dir]
	Keys              *keystore.Store // how that file is written [in clear]

	HistoryFile string         // of the tasks that have ended [no history is kept]
	KeepTasks   history.Limits // of the history

	identity *pki.Identity // of this host [it has none]
	peers    *rpc.Client   // how the leader is reached while it is another host [not at all]
	hosts    *rpc.Client   // how any host is reached, by its id [not at all]
	refusals peer.Refusals // is told of hosts that are refused; may be nil
	onLeader func()        // called after each change of Leader; may be nil
}

func (c Config) withDefaults() Config {
	c.Config = c.Config.WithDefaults()
	if c.DisconnectedAfter == 0 {
		c.DisconnectedAfter = 4 * time.Second
	}
	if c.KeyringFile == "" {
		c.KeyringFile = filepath.Join(c.Dir, seal.File)
	}
	return c
}

// Server wires what runs on a host that is one of the pool's servers: the consensus node and the packages beside it. Its
// methods are safe for concurrent use. A method that needs the leader fails with an error that wraps
// spec.ErrUnavailable while this server does not lead.
type Server struct {
	cfg   Config
	log   *slog.Logger
	node  *consensus.Node
	state *raftfsm.State

	scheduler  *scheduler.Scheduler
	agents     *dispatch.Backend
	leader     *rpc.LeaderTracker
	liveness   *liveness.Monitor
	servers    *membership.Servers
	publisher  *membership.Publisher
	authority  *admission.Authority
	accessKeys *admission.AccessKeys
	acme       *admission.ACMECache
	history    *history.History // nil: none is kept
	metrics    *metrics.Store
	leases     *liveness.VirtualIPs
	tracker    *tracker.Tracker
}

// Open opens a server on its directory; see consensus.New and consensus.Node.Start for what is refused.
func Open(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	keyring, err := seal.Open(cfg.KeyringFile, cfg.Keys)
	if err != nil {
		return nil, err
	}
	if cfg.identity != nil {
		cfg.Config.BeginTerm = admission.Bootstrap{HostID: cfg.HostID, Identity: cfg.identity, Keyring: keyring, Now: cfg.Now}.Commands
	}
	node, err := consensus.New(cfg.Config)
	if err != nil {
		return nil, err
	}
	cfg.PoolID = node.PoolID()
	s := newServer(cfg, node, keyring)
	hooks := consensus.Hooks{StartTerm: s.startTerm, LeaderChanged: cfg.onLeader,
		Loops: []func(context.Context){s.liveness.Forward, s.publisher.Run}}
	if s.history != nil {
		hooks.Loops = append(hooks.Loops, s.history.Run)
	}
	if err := node.Start(ctx, hooks); err != nil {
		return nil, err
	}
	return s, nil
}

func newServer(cfg Config, node *consensus.Node, keyring *seal.Keyring) *Server {
	s := &Server{cfg: cfg, log: cfg.Log, node: node, state: node.State(), leader: node.Tracker(), metrics: metrics.NewStore()}
	s.liveness = liveness.New(node, s.log, s.leader, cfg.peers, cfg.DisconnectedAfter)
	s.leases = liveness.NewVirtualIPs(node)
	kept := tracker.NewKeptImages(node, s.liveness.Connected)
	s.tracker = tracker.New(tracker.Config{Address: s.liveness.ConnectedAddress, Connected: s.liveness.ConnectedHosts, Kept: kept.ImagesOf, Cluster: s.clusterOf})
	s.servers = membership.NewServers(node, s.liveness, cfg.peers, cfg.HostID, s.log, consensus.Logger(s.log))
	s.authority = &admission.Authority{Server: node, Keyring: keyring, PoolInfo: func() spec.PoolInfo { return s.publisher.Build() }, Connected: s.liveness.Connected, Refusals: cfg.refusals, Log: s.log}
	s.publisher = membership.NewPublisher(cfg.PoolID, s.servers, s.leader, s.authority.SignText)
	caller := liveness.LeaderCaller{Node: node, Monitor: s.liveness, Alone: cfg.peers == nil}
	s.agents = dispatch.NewBackend(agentServer{node, caller}, s.liveness, s.publisher, cfg.peers, cfg.refusals, s.metrics, s.leases)
	s.accessKeys = &admission.AccessKeys{Server: node, Keyring: keyring}
	s.acme = &admission.ACMECache{Keys: s.accessKeys}
	if cfg.peers != nil {
		s.accessKeys.Fetch = &admission.KeyringFetcher{Client: cfg.peers, Others: s.otherServers, Log: s.log}
	}
	if cfg.HistoryFile != "" {
		s.history = s.newHistory()
	}
	s.scheduler = scheduler.New(node, scheduler.HostFacts{Schedulable: s.liveness.Schedulable, Images: s.tracker.ImagesOf}, s.log)
	return s
}

// clusterOf is the cluster of a host, nil when one of them is not known.
func (s *Server) clusterOf(hostID string) *spec.Cluster {
	view := s.state.View()
	if h := view.Host(hostID); h != nil {
		return view.Cluster(h.Cluster)
	}
	return nil
}

// agentServer is the server as the backend of agents uses it.
type agentServer struct {
	orchestrator.Proposer // the consensus node
	liveness.LeaderCaller
}

func (s *Server) otherServers() []string { return membership.OtherServers(s.servers) }

// newHistory makes the history of this server, which follows its state.
func (s *Server) newHistory() *history.History {
	config := history.Config{Path: s.cfg.HistoryFile, State: s.state, Limits: s.cfg.KeepTasks, Now: s.node.Now, Log: s.log}
	if s.cfg.peers != nil {
		config.Others, config.Read = s.otherServers, history.ReadFrom(s.cfg.peers)
	}
	return history.New(config)
}

// prefetcher is the loop of a leader term that has hosts fetch images.
func (s *Server) prefetcher() *prefetch.Prefetcher {
	return &prefetch.Prefetcher{
		State: s.state, Reservations: s.scheduler.Reservations, Connected: s.liveness.Connected, Send: prefetch.TellHost(s.cfg.hosts), Log: s.log,
	}
}

// startTerm makes the loops of a leader term.
func (s *Server) startTerm(ctx context.Context) []func() {
	s.liveness.StartTerm(time.Since(s.node.Raft().LastContact()))
	s.tracker.Restart()
	reaper, lifecycle := orchestrator.NewReaper(s.node, s.log), orchestrator.NewTaskLifecycle(s.node, s.log)
	drainer, services := orchestrator.NewDrainer(s.node, s.log), orchestrator.NewServices(s.node, s.liveness.Schedulable, s.log)
	autoscaler := orchestrator.NewAutoscaler(s.node, s.metrics, s.log)
	targets := &orchestrator.TargetDrainer{Proposer: s.node, Routing: s.agents.CurrentRouting, Drained: s.liveness.Drained, Log: s.log}
	virtualIPs := &orchestrator.VirtualIPs{Proposer: s.node, Leases: s.leases, Log: s.log}
	partitions := &orchestrator.GPUPartitions{Proposer: s.node, Schedulable: s.liveness.Schedulable, Log: s.log}
	loops := append(s.scheduler.StartTerm(ctx),
		func() { reaper.Loop(ctx) },
		func() { lifecycle.Loop(ctx) },
		func() { drainer.Loop(ctx) },
		func() { services.Loop(ctx) },
		func() { autoscaler.Loop(ctx) },
		func() { targets.Loop(ctx) },
		func() { virtualIPs.Loop(ctx) },
		func() { partitions.Loop(ctx) },
		func() { s.liveness.MarkLostHosts(ctx, s.node) },
		func() { s.node.RecordLeader(ctx) },
		func() { s.accessKeys.KeepSealed(ctx, s.log) },
		func() { s.authority.KeepRotating(ctx) },
	)
	if s.cfg.peers != nil {
		loops = append(loops, func() { s.servers.Reconcile(ctx) })
	}
	if s.cfg.hosts != nil {
		loops = append(loops, func() { s.prefetcher().Loop(ctx) })
	}
	return loops
}

// View is a linearizable view of the state: see consensus.Node.
func (s *Server) View(ctx context.Context) (*raftfsm.View, error) { return s.node.View(ctx) }

// Propose records a command: see consensus.Node.
func (s *Server) Propose(ctx context.Context, c raftfsm.Command) (any, error) {
	return s.node.Propose(ctx, c)
}

// Leader is the address of the leader as far as this server knows, and whether it is this server.
func (s *Server) Leader() (address string, self bool) { return s.node.Leader() }

// Leads reports whether this server leads and may answer.
func (s *Server) Leads() bool { return s.node.Leads() }

// Fatal receives one error when the server cannot go on: see consensus.Node.
func (s *Server) Fatal() <-chan error { return s.node.Fatal() }

// Close ends the server in order; what was acknowledged is on disk. An error tells what did not end.
func (s *Server) Close() error { return s.node.Close() }
