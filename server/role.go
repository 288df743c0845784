package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pinion/packaging/tick"
	"pinion/server/consensus"
	"pinion/server/rpc"

	"pinion/raftfsm/spec"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/pki"
)

// roleInterval is the interval at which a host compares its role with the desired one.
const roleInterval = time.Second

// roleFollower reconciles this host's role, server or agent, with the one that the pool desires.
type roleFollower struct{ m *Member }

// followRole reconciles this host's role until the member ends. The host becomes a server as soon as a session says so, because an empty Raft
// node outside the configuration is harmless. It becomes an agent, and deletes its log, only when the leader itself confirms
// that it is neither desired nor in Raft's configuration, so a vote that still counts is never lost.
func (f roleFollower) followRole() {
	tick := tick.New(roleInterval)
	defer tick.Stop()
	for {
		wake := f.m.roleChanged.Wait()
		f.reconcileRole()
		var looked <-chan struct{}
		if own := f.m.localServer(); own != nil {
			looked = own.publisher.PoolInfoChanged()
		}
		select {
		case <-tick.C:
		case <-wake:
		case <-looked:
		case <-f.m.ctx.Done():
			return
		}
	}
}

func (f roleFollower) reconcileRole() {
	own, told := f.m.localServer(), f.m.desiredRole.Load()
	if own == nil {
		if told != nil && *told && f.m.ctx.Err() == nil {
			f.becomeServer()
		}
		return
	}
	if leader, _ := own.Leader(); leader == "" {
		// Without a leader what this server has may be old, and its agent finds out who the servers are.
	} else if seen := own.publisher.PoolInfo(); seen != nil {
		sessionHost(f).updatePoolInfo(*seen, own)
	}
	own.accessKeys.FetchKeyring(f.m.ctx)
	if err := own.accessKeys.DropRetired(); err != nil {
		f.m.log.Error("sealing keys that were replaced are still on this disk", "error", err)
	}
	f.storeCAKey(own)
	if f.shouldConfirmRole(own, told) {
		f.confirmRole(own)
	}
}

// storeCAKey keeps the key of the pool's CA on this server's disk, as soon as the server can read it.
func (f roleFollower) storeCAKey(own *Server) {
	if _, held := f.m.cfg.Identity.CA(); held {
		return
	}
	ca, err := own.authority.CA()
	if err == nil && pki.FingerprintOf(ca.Certificate) != f.m.cfg.Identity.Fingerprint() {
		return // one of the two has not heard of a rotation yet
	}
	if err == nil {
		err = f.m.cfg.Identity.StoreCAKey(ca)
	}
	if err != nil && !errors.Is(err, spec.ErrUnavailable) {
		f.m.log.Error("the key of the pool's CA cannot be kept here", "error", err)
	}
}

// shouldConfirmRole reports whether this host should ask the leader if it is still a server.
func (f roleFollower) shouldConfirmRole(own *Server, told *bool) bool {
	if own.Leads() || own.node.IsSoleVoter() {
		return false
	}
	self := own.state.View().Host(f.m.cfg.HostID)
	address, _ := own.Leader()
	return address == "" || self != nil && !self.Server || told != nil && !*told && !f.m.upstream.IsLocal(own.agents)
}

// failIfRemoved ends the process when the error says that this host was removed, and returns the error.
func (f roleFollower) failIfRemoved(err error) error {
	if spec.IsRemoved(err, f.m.cfg.HostID) {
		f.m.fail(err)
	}
	return err
}

// confirmRole asks every other server that this host knows of; the one that leads answers.
func (f roleFollower) confirmRole(own *Server) {
	ctx, cancel := context.WithTimeout(f.m.ctx, 2*roleInterval)
	defer cancel()
	for _, address := range f.m.poolCache.Peers(f.m.cfg.Address) {
		var answer membership.RoleReply
		err := f.m.peers.Call(ctx, address, membership.PathRole, struct{}{}, &answer)
		if f.failIfRemoved(err) != nil || sessionHost(f).checkIncarnation(answer.Incarnation) != nil {
			continue
		}
		if !answer.Server {
			f.m.log.Warn("this host becomes an agent: another one is a server in its place, or the pool wants fewer of them. Its own access key may look at "+
				"its cluster from now on and change nothing beyond this host", "do", "`pinion hosts` shows the servers; work there, or with a key of `pinion keys create`")
			f.stopServer(own, "")
		}
		return
	}
}

func (f roleFollower) becomeServer() {
	f.m.roleMu.Lock()
	defer f.m.roleMu.Unlock()
	if f.m.localServer() != nil || f.m.ctx.Err() != nil {
		return
	}
	if err := f.m.startServer(f.m.ctx, true); err != nil {
		f.m.log.Error("this host cannot become a server of the pool, will try again", "error", err)
		return
	}
	f.m.log.Info("this host becomes a server of the pool")
}

// startServer opens the local server. joins means that the pool exists: a server without a log waits until it is added.
func (m *Member) startServer(ctx context.Context, joins bool) error {
	dialer := &peer.Dialer{Identity: m.cfg.Identity, Authorize: peerAPI{m}.authorizeKey}
	layer := peer.RaftLayer(m.cfg.Port, dialer, peer.Address(m.cfg.Address))
	network := consensus.NewTransport(&incarnationLayer{layer, m, m.log}, m.log)
	pool := m.cfg.PoolID
	if joins {
		pool = m.PoolID()
	}
	own, err := Open(ctx, Config{
		Config: consensus.Config{
			Dir: m.raftDir(), HostID: m.cfg.HostID, Address: m.cfg.Address, PoolID: pool, Log: m.log,
			Transport: peer.BindRaft(network), Now: m.cfg.Now, MinFree: m.cfg.Disk.MinFree, Reserve: m.cfg.Disk.Reserve, SkipBootstrap: joins,
			CheckMemory: checkStateMemory, Watermark: watermarkOf(m.raftDir()), Alone: m.poolCache.OnlyServer(m.cfg.Address),
			Settings: spec.Settings{Servers: m.cfg.Servers, ReplaceAfter: m.cfg.ReplaceAfter, TaskLostAfter: m.cfg.TaskLostAfter},
		},
		HistoryFile: filepath.Join(m.cfg.Dir, historyFile), KeepTasks: m.cfg.Disk.KeepTasks,
		DisconnectedAfter: m.cfg.DisconnectedAfter, KeyringFile: filepath.Join(m.cfg.Dir, keyringFile), Keys: m.cfg.keys(), peers: m.peers, hosts: &rpc.Client{HTTP: m.anyHost}, identity: m.cfg.Identity, refusals: m.cfg.Port.ReportRefusal, given: m.cfg.SecretsGiven, onLeader: m.leader.Refresh,
	})
	if err != nil {
		return errors.Join(err, network.Close(), layer.Close())
	}
	m.server.Store(own)
	m.leader.Refresh()
	m.loops.Go(func() { m.watchFatal(own) })
	if !joins {
		sessionHost{m}.updatePoolInfo(own.publisher.Build(), own)
	}
	return nil
}

// watchFatal forwards the server's fatal error.
func (m *Member) watchFatal(own *Server) {
	<-own.node.Life().Done()
	select {
	case err := <-own.Fatal(): // it is there before the life ends
		m.fail(err)
	default:
	}
}

// setServerAside ends a server from before a recovery of the pool. Its data is kept under another name for inspection.
func (f roleFollower) setServerAside(own *Server) {
	f.stopServer(own, fmt.Sprintf("%s.before-%d", f.m.raftDir(), f.m.poolCache.Incarnation()))
}

// stopServer makes this host an agent. The log goes to keep, and away when that is empty.
func (f roleFollower) stopServer(own *Server, keep string) {
	f.m.roleMu.Lock()
	defer f.m.roleMu.Unlock()
	if !f.m.server.CompareAndSwap(own, nil) {
		return
	}
	f.m.leader.Refresh()
	f.m.desiredRole.Store(nil)
	f.m.upstream.Drop(own.agents)
	to := keep
	if keep == "" {
		to = f.m.trashDir()
	}
	err := own.Close() // the log is moved only when nothing writes to it any more
	if err == nil {
		err = errors.Join(os.RemoveAll(to), os.RemoveAll(watermarkOf(f.m.raftDir())))
	}
	if err == nil {
		err = os.Rename(f.m.raftDir(), to)
	}
	if err == nil && keep == "" {
		err = errors.Join(os.RemoveAll(to), own.accessKeys.Keyring.Drop())
	}
	if err == nil {
		err = f.m.cfg.Identity.DropCAKey()
	}
	if err != nil {
		f.m.fail(fmt.Errorf("this host stopped being a server and cannot clear away its log: %w", err))
		return
	}
	f.m.log.Info("this host is an agent now", "log kept", keep)
}
