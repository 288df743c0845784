package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"pinion/packaging/tick"
	"pinion/server/consensus"
	"pinion/server/rpc"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/watch"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/pki"
)

// roleInterval is the interval at which a host compares its role with the desired one.
const roleInterval = time.Second

// roleFollower reconciles this host's role, server or agent, with the one that the pool desires.
type roleFollower struct {
	*poolFollower
	peers *rpc.Client
	auth  *peerAuthorizer
	fail  func(error) // ends the process
	loops *sync.WaitGroup
	life  context.Context // ends with the membership

	mu      sync.Mutex           // held while the role changes
	desired atomic.Pointer[bool] // whether the pool wants a server here, as a session last said
	changed watch.Signal         // wakes followRole
}

// followRole reconciles this host's role until the member ends. The host becomes a server as soon as a session says so, because an empty Raft
// node outside the configuration is harmless. It becomes an agent, and deletes its log, only when the leader itself confirms
// that it is neither desired nor in Raft's configuration, so a vote that still counts is never lost.
func (f *roleFollower) followRole() {
	tick := tick.New(roleInterval)
	defer tick.Stop()
	for {
		wake := f.changed.Wait()
		f.reconcileRole()
		var poolInfo <-chan struct{}
		if own := f.server.Load(); own != nil {
			poolInfo = own.publisher.PoolInfoChanged()
		}
		select {
		case <-tick.C:
		case <-wake:
		case <-poolInfo:
		case <-f.life.Done():
			return
		}
	}
}

func (f *roleFollower) reconcileRole() {
	own, told := f.server.Load(), f.desired.Load()
	if own == nil {
		if told != nil && *told && f.life.Err() == nil {
			f.becomeServer()
		}
		return
	}
	if leader, _ := own.Leader(); leader == "" {
		// Without a leader what this server has may be old, and its agent finds out who the servers are.
	} else if seen := own.publisher.PoolInfo(); seen != nil {
		f.updatePoolInfo(*seen, own)
	}
	own.accessKeys.FetchKeyring(f.life)
	if err := own.accessKeys.DropRetired(); err != nil {
		f.log.Error("sealing keys that were replaced are still on this disk", "error", err)
	}
	f.storeCAKey(own)
	if f.shouldConfirmRole(own, told) {
		f.confirmRole(own)
	}
}

// storeCAKey keeps the key of the pool's CA on this server's disk, as soon as the server can read it.
func (f *roleFollower) storeCAKey(own *Server) {
	if _, held := f.cfg.Identity.CA(); held {
		return
	}
	ca, err := own.authority.CA()
	if err == nil && pki.FingerprintOf(ca.Certificate) != f.cfg.Identity.Fingerprint() {
		return // one of the two has not heard of a rotation yet
	}
	if err == nil {
		err = f.cfg.Identity.StoreCAKey(ca)
	}
	if err != nil && !errors.Is(err, spec.ErrUnavailable) {
		f.log.Error("the key of the pool's CA cannot be kept here", "error", err)
	}
}

// shouldConfirmRole reports whether this host should ask the leader if it is still a server.
func (f *roleFollower) shouldConfirmRole(own *Server, told *bool) bool {
	if own.Leads() || own.node.IsSoleVoter() {
		return false
	}
	self := own.state.View().Host(f.cfg.HostID)
	address, _ := own.Leader()
	return address == "" || self != nil && !self.Server || told != nil && !*told && !f.upstream.IsLocal(own.agents)
}

// failIfRemoved ends the process when the error says that this host was removed, and returns the error.
func (f *roleFollower) failIfRemoved(err error) error {
	if spec.IsRemoved(err, f.cfg.HostID) {
		f.fail(err)
	}
	return err
}

// confirmRole asks every other server that this host knows of; the one that leads answers.
func (f *roleFollower) confirmRole(own *Server) {
	ctx, cancel := context.WithTimeout(f.life, 2*roleInterval)
	defer cancel()
	for _, address := range f.cache.Peers(f.cfg.Address) {
		var answer membership.RoleReply
		err := f.peers.Call(ctx, address, membership.PathRole, struct{}{}, &answer)
		if f.failIfRemoved(err) != nil || f.checkIncarnation(answer.Incarnation) != nil {
			continue
		}
		if !answer.Server {
			f.log.Warn("this host becomes an agent: another one is a server in its place, or the pool wants fewer of them. Its own access key may look at "+
				"its cluster from now on and change nothing beyond this host", "do", "`pinion hosts` shows the servers; work there, or with a key of `pinion keys create`")
			f.stopServer(own, "")
		}
		return
	}
}

func (f *roleFollower) becomeServer() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server.Load() != nil || f.life.Err() != nil {
		return
	}
	if err := f.startServer(f.life, true); err != nil {
		f.log.Error("this host cannot become a server of the pool, will try again", "error", err)
		return
	}
	f.log.Info("this host becomes a server of the pool")
}

// startServer opens the local server. joins means that the pool exists: a server without a log waits until it is added.
func (f *roleFollower) startServer(ctx context.Context, joins bool) error {
	dialer := &peer.Dialer{Identity: f.cfg.Identity, Authorize: f.auth.authorizeKey}
	layer := peer.RaftLayer(f.cfg.Port, dialer, peer.Address(f.cfg.Address))
	network := consensus.NewTransport(&incarnationLayer{layer, f.poolFollower, f.auth, f.log}, f.log)
	pool := f.cfg.PoolID
	if joins {
		pool = f.cache.PoolInfo().Pool
	}
	own, err := Open(ctx, Config{
		Config: consensus.Config{
			Dir: f.cfg.raftDir(), HostID: f.cfg.HostID, Address: f.cfg.Address, PoolID: pool, Log: f.log,
			Transport: peer.BindRaft(network), Now: f.cfg.Now, MinFree: f.cfg.Disk.MinFree, Reserve: f.cfg.Disk.Reserve, SkipBootstrap: joins,
			CheckMemory: checkStateMemory, Watermark: watermarkOf(f.cfg.raftDir()), Alone: f.cache.OnlyServer(f.cfg.Address),
			Settings: spec.Settings{Servers: f.cfg.Servers, ReplaceAfter: f.cfg.ReplaceAfter, TaskLostAfter: f.cfg.TaskLostAfter},
		},
		HistoryFile: filepath.Join(f.cfg.Dir, historyFile), KeepTasks: f.cfg.Disk.KeepTasks,
		DisconnectedAfter: f.cfg.DisconnectedAfter, KeyringFile: filepath.Join(f.cfg.Dir, keyringFile), Keys: f.cfg.keys(), peers: f.peers, hosts: rpc.ToAnyHost(f.anyHost), identity: f.cfg.Identity, refusals: f.cfg.Port.ReportRefusal, given: f.cfg.SecretsGiven, onLeader: f.leader.Refresh,
	})
	if err != nil {
		return errors.Join(err, network.Close(), layer.Close())
	}
	f.server.Store(own)
	f.leader.Refresh()
	f.loops.Go(func() { f.watchFatal(own) })
	if !joins {
		f.updatePoolInfo(own.publisher.Build(), own)
	}
	return nil
}

// watchFatal forwards the server's fatal error.
func (f *roleFollower) watchFatal(own *Server) {
	<-own.node.Life().Done()
	select {
	case err := <-own.Fatal(): // it is there before the life ends
		f.fail(err)
	default:
	}
}

// close ends the server here, if there is one.
func (f *roleFollower) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.server.Swap(nil)
	if own == nil {
		return nil
	}
	own.servers.TransferOnShutdown()
	return own.Close()
}

// setServerAside ends a server from before a recovery of the pool. Its data is kept under another name for inspection.
func (f *roleFollower) setServerAside(own *Server) {
	f.stopServer(own, fmt.Sprintf("%s.before-%d", f.cfg.raftDir(), f.cache.Incarnation()))
}

// stopServer makes this host an agent. The log goes to keep, and away when that is empty.
func (f *roleFollower) stopServer(own *Server, keep string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.server.CompareAndSwap(own, nil) {
		return
	}
	f.leader.Refresh()
	f.desired.Store(nil)
	f.upstream.Drop(own.agents)
	to := keep
	if keep == "" {
		to = f.cfg.trashDir()
	}
	err := own.Close() // the log is moved only when nothing writes to it any more
	if err == nil {
		err = errors.Join(os.RemoveAll(to), os.RemoveAll(watermarkOf(f.cfg.raftDir())))
	}
	if err == nil {
		err = os.Rename(f.cfg.raftDir(), to)
	}
	if err == nil && keep == "" {
		err = errors.Join(os.RemoveAll(to), own.accessKeys.Keyring.Drop())
	}
	if err == nil {
		err = f.cfg.Identity.DropCAKey()
	}
	if err != nil {
		f.fail(fmt.Errorf("this host stopped being a server and cannot clear away its log: %w", err))
		return
	}
	f.log.Info("this host is an agent now", "logKept", keep)
}
