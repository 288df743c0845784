package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"pinion/raftfsm/spec"
	"pinion/server/consensus"
	"pinion/server/dispatch"
	"pinion/server/history"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/rpc"
	"pinion/server/seal"
)

// serverLifecycle starts and ends the server on this host, as its role changes.
type serverLifecycle struct {
	cfg      MemberConfig
	log      *slog.Logger
	server   *localServer
	pool     *membership.PoolFollower
	auth     *membership.PeerAuthorizer
	leader   *rpc.LeaderTracker
	peers    *rpc.Client // reaches servers alone
	anyHost  *rpc.Client
	upstream *dispatch.Upstream
	stopped  func()      // is called when this host becomes an agent
	fail     func(error) // ends the process
	loops    *sync.WaitGroup
	life     context.Context // ends with the membership

	mu sync.Mutex // held while the role changes
}

// LocalServer is the server here, nil while this host is an agent.
func (l *serverLifecycle) LocalServer() membership.LocalServer {
	if own := l.server.Load(); own != nil {
		return roleServer{own, l}
	}
	return nil
}

// StartServer makes this host a server, unless it is one.
func (l *serverLifecycle) StartServer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server.Load() != nil || l.life.Err() != nil {
		return
	}
	if err := l.openServer(l.life, true); err != nil {
		l.log.Error("this host cannot become a server of the pool, will try again", "error", err)
		return
	}
	l.log.Info("this host becomes a server of the pool")
}

// openServer opens the local server. joins means that the pool exists: a server without a log waits until it is added.
func (l *serverLifecycle) openServer(ctx context.Context, joins bool) error {
	dialer := &peer.Dialer{Identity: l.cfg.Identity, Authorize: l.auth.AuthorizeKey}
	layer := peer.RaftLayer(l.cfg.Port, dialer, peer.Address(l.cfg.Address))
	network := consensus.NewTransport(&consensus.IncarnationLayer{
		StreamLayer: layer, Pool: l.pool, Starts: l.cfg.Starts, Node: l.server.node, Refusals: l.cfg.Port.ReportRefusal, Logged: &l.auth.Logged, Log: l.log,
	}, l.log)
	dir, pool := consensus.DirIn(l.cfg.Dir), l.cfg.PoolID
	if joins {
		pool = l.pool.Cache.PoolInfo().Pool
	}
	own, err := Open(ctx, Config{
		Config: consensus.Config{
			Dir: dir, HostID: l.cfg.HostID, Address: l.cfg.Address, PoolID: pool, Log: l.log,
			Transport: peer.BindRaft(network), Now: l.cfg.Now, MinFree: l.cfg.Disk.MinFree, Reserve: l.cfg.Disk.Reserve, SkipBootstrap: joins,
			CheckMemory: consensus.CheckStateMemory, Watermark: consensus.WatermarkOf(dir), Alone: l.pool.Cache.OnlyServer(l.cfg.Address),
			Settings: spec.Settings{Servers: l.cfg.Servers, ReplaceAfter: l.cfg.ReplaceAfter, TaskLostAfter: l.cfg.TaskLostAfter},
		},
		HistoryFile: filepath.Join(l.cfg.Dir, history.File), KeepTasks: l.cfg.Disk.KeepTasks,
		DisconnectedAfter: l.cfg.DisconnectedAfter, KeyringFile: filepath.Join(l.cfg.Dir, seal.File), Keys: l.cfg.keys(), peers: l.peers, hosts: l.anyHost, identity: l.cfg.Identity, refusals: l.cfg.Port.ReportRefusal, onLeader: l.leader.Refresh,
	})
	if err != nil {
		return errors.Join(err, network.Close(), layer.Close())
	}
	l.server.Store(own)
	l.leader.Refresh()
	l.loops.Go(func() { l.watchFatal(own) })
	if !joins {
		l.pool.UpdatePoolInfo(own.publisher.Build(), true)
	}
	return nil
}

// watchFatal forwards the server's fatal error.
func (l *serverLifecycle) watchFatal(own *Server) {
	<-own.node.Life().Done()
	select {
	case err := <-own.Fatal(): // it is there before the life ends
		l.fail(err)
	default:
	}
}

// close ends the server here, if there is one.
func (l *serverLifecycle) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.server.Swap(nil)
	if own == nil {
		return nil
	}
	own.servers.TransferOnShutdown()
	return own.Close()
}

// setServerAside ends the server here, if there is one, which is from before a recovery of the pool. It does not wait for that. The data of the
// server is kept under another name for inspection.
func (l *serverLifecycle) setServerAside() {
	if own := l.server.Load(); own != nil {
		l.loops.Go(func() {
			l.stopServer(own, fmt.Sprintf("%s.before-%d", consensus.DirIn(l.cfg.Dir), l.pool.Incarnation()))
		})
	}
}

// StopServer makes this host an agent, and removes the log of the server, which it was.
func (l *serverLifecycle) StopServer(was membership.LocalServer) {
	l.stopServer(was.(roleServer).own, "")
}

// Fail ends the process.
func (l *serverLifecycle) Fail(err error) { l.fail(err) }

// stopServer makes this host an agent. The log goes to keep, and away when that is empty.
func (l *serverLifecycle) stopServer(own *Server, keep string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.server.CompareAndSwap(own, nil) {
		return
	}
	l.leader.Refresh()
	l.stopped()
	l.upstream.Drop(own.agents)
	dir, to := consensus.DirIn(l.cfg.Dir), keep
	if keep == "" {
		to = l.cfg.trashDir()
	}
	err := own.Close() // the log is moved only when nothing writes to it any more
	if err == nil {
		err = errors.Join(os.RemoveAll(to), os.RemoveAll(consensus.WatermarkOf(dir)))
	}
	if err == nil {
		err = os.Rename(dir, to)
	}
	if err == nil && keep == "" {
		err = errors.Join(os.RemoveAll(to), own.accessKeys.Keyring.Drop())
	}
	if err == nil {
		err = l.cfg.Identity.DropCAKey()
	}
	if err != nil {
		l.fail(fmt.Errorf("this host stopped being a server and cannot clear away its log: %w", err))
		return
	}
	l.log.Info("this host is an agent now", "raftLogKept", keep)
}

// roleServer is the server of this host as its role depends on it.
type roleServer struct {
	own       *Server
	lifecycle *serverLifecycle
}

// Servers are the pool's servers as this one has them.
func (r roleServer) Servers() *membership.Servers { return r.own.servers }

// Publisher tells hosts of the pool.
func (r roleServer) Publisher() *membership.Publisher { return r.own.publisher }

// Leader is Server.Leader.
func (r roleServer) Leader() (address string, self bool) { return r.own.Leader() }

// MaintainKeys is admission.Authority.MaintainKeys.
func (r roleServer) MaintainKeys(ctx context.Context) {
	r.own.authority.MaintainKeys(ctx, r.own.accessKeys, r.lifecycle.cfg.Identity)
}

// ServesAgentHere reports whether the agent of this host is connected to this server, and to no other one.
func (r roleServer) ServesAgentHere() bool { return r.lifecycle.upstream.IsLocal(r.own.agents) }
