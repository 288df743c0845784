package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/membership"
	"pinion/server/peer"
)

// roleInterval is how often a host looks whether it is what the pool wants it to be.
const roleInterval = time.Second

// followRole makes this host what the pool wants. It becomes a server as soon as a session says so: an empty Raft that
// nobody lets in does no harm. It stops being one, and forgets its log, only when the leader itself has said that it is
// neither wanted nor in Raft's configuration: a vote that was given is never forgotten while it counts.
func (m *Member) followRole() {
	tick := time.NewTicker(roleInterval)
	defer tick.Stop()
	for {
		wake := m.roleChanged.Wait()
		m.reconcileRole()
		var looked <-chan struct{}
		if own := m.localServer(); own != nil {
			looked = own.publisher.PoolInfoChanged()
		}
		select {
		case <-tick.C:
		case <-wake:
		case <-looked:
		case <-m.ctx.Done():
			return
		}
	}
}

func (m *Member) reconcileRole() {
	own, told := m.localServer(), m.desiredRole.Load()
	if own == nil {
		if told != nil && *told && m.ctx.Err() == nil {
			m.becomeServer()
		}
		return
	}
	if seen := own.publisher.PoolInfo(); seen != nil {
		m.updatePoolInfo(*seen, own)
	}
	if a := own.state.View().CA(); a != nil {
		if err := m.cfg.Identity.StoreCAKey(*a); err != nil {
			m.log.Error("the pool's authority cannot be kept here", "error", err)
		}
	}
	own.accessKeys.FetchKeyring(m.ctx)
	if m.shouldConfirmRole(own, told) {
		m.confirmRole(own)
	}
}

// shouldConfirmRole reports whether there is a reason to ask the leader if this host is still a server.
func (m *Member) shouldConfirmRole(own *Server, told *bool) bool {
	if own.Leads() || own.isSoleVoter() {
		return false
	}
	self := own.state.View().Host(m.cfg.HostID)
	address, _ := own.Leader()
	return address == "" || self != nil && !self.Server || told != nil && !*told && !m.upstream.IsLocal(own.agents)
}

// failIfRemoved ends the process when the error says that this host was removed, and returns the error.
func (m *Member) failIfRemoved(err error) error {
	if errors.Is(err, spec.ErrRemoved) {
		m.fail(err)
	}
	return err
}

// confirmRole asks every other server that this host knows of; the one that leads answers.
func (m *Member) confirmRole(own *Server) {
	ctx, cancel := context.WithTimeout(m.ctx, 2*roleInterval)
	defer cancel()
	for _, address := range m.poolCache.Peers(m.cfg.Address) {
		var answer membership.RoleReply
		err := m.peers.Call(ctx, address, membership.PathRole, struct{}{}, &answer)
		if m.failIfRemoved(err) != nil || m.checkIncarnation(answer.Incarnation) != nil {
			continue
		}
		if !answer.Server {
			m.log.Info("the pool does not want this host as a server any more")
			m.stopServer(own, "")
		}
		return
	}
}

func (m *Member) becomeServer() {
	m.roleMu.Lock()
	defer m.roleMu.Unlock()
	if m.localServer() != nil || m.ctx.Err() != nil {
		return
	}
	if err := m.startServer(m.ctx, true); err != nil {
		m.log.Error("this host cannot become a server of the pool, will try again", "error", err)
		return
	}
	m.log.Info("this host becomes a server of the pool")
}

// startServer opens Raft. joins is for a server of a pool that exists: without a log it waits to be let in.
func (m *Member) startServer(ctx context.Context, joins bool) error {
	dialer := &peer.Dialer{Identity: m.cfg.Identity}
	layer := peer.RaftLayer(m.cfg.Port, dialer, peer.Address(m.cfg.Address))
	transport := peer.BindRaft(NewTransport(&incarnationLayer{layer, m}, m.log))
	pool := m.cfg.PoolID
	if joins {
		pool = m.PoolID()
	}
	own, err := Open(ctx, Config{
		Dir: m.raftDir(), HostID: m.cfg.HostID, Address: m.cfg.Address, PoolID: pool, Log: m.log, LostAfter: m.cfg.LostAfter,
		KeyringFile: filepath.Join(m.cfg.Dir, keyringFile),
		Transport:   transport, Now: m.cfg.Now, MinFree: m.cfg.MinFree, Reserve: m.cfg.Reserve, SkipBootstrap: joins,
		Settings: spec.Settings{Servers: m.cfg.Servers, ReplaceAfter: m.cfg.ReplaceAfter, TaskLostAfter: m.cfg.TaskLostAfter},
		CA:       m.cfg.Identity.CA, peers: m.peers, onLeader: m.leader.Refresh,
	})
	if err != nil {
		layer.Close()
		return err
	}
	m.server.Store(own)
	m.leader.Refresh()
	m.loops.Go(func() { m.watchFatal(own) })
	if !joins {
		m.updatePoolInfo(own.publisher.Build(), own)
	}
	return nil
}

// watchFatal passes on why a server cannot go on.
func (m *Member) watchFatal(own *Server) {
	<-own.life.Done()
	select {
	case err := <-own.Fatal(): // it is there before the life ends
		m.fail(err)
	default:
	}
}

// setServerAside ends a server of before a recovery of the pool. Its data is put aside, not wiped: a person may want to look.
func (m *Member) setServerAside(own *Server) {
	m.stopServer(own, fmt.Sprintf("%s.before-%d", m.raftDir(), m.poolCache.Incarnation()))
}

// stopServer makes this host an agent. The log goes to keep, and away when that is empty.
func (m *Member) stopServer(own *Server, keep string) {
	m.roleMu.Lock()
	defer m.roleMu.Unlock()
	if !m.server.CompareAndSwap(own, nil) {
		return
	}
	m.leader.Refresh()
	m.desiredRole.Store(nil)
	m.upstream.Drop(own.agents)
	to := keep
	if keep == "" {
		to = m.trashDir()
	}
	err := own.Close() // the log is moved only when nothing writes to it any more
	if err == nil {
		err = os.RemoveAll(to)
	}
	if err == nil {
		err = os.Rename(m.raftDir(), to)
	}
	if err == nil && keep == "" {
		err = errors.Join(os.RemoveAll(to), own.accessKeys.Keyring.Drop())
	}
	if err == nil {
		err = m.cfg.Identity.DropCAKey()
	}
	if err != nil {
		m.fail(fmt.Errorf("this host stopped being a server and cannot clear away its log: %w", err))
		return
	}
	m.log.Info("this host is an agent now", "log kept", keep)
}
