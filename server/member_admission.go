package server

import (
	"context"
	"fmt"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
)

// hostAdmission admits this host to its pool, and keeps its certificate valid.
type hostAdmission struct{ m *Member }

// join has the pool at Join admit this host.
func (j hostAdmission) join(ctx context.Context) error {
	reply, err := admission.Join{
		Address: j.m.cfg.Join, Token: j.m.cfg.Token, HostID: j.m.cfg.HostID, Identity: j.m.cfg.Identity, Now: j.m.cfg.Now, Log: j.m.log,
	}.Do(ctx)
	if err != nil {
		return err
	}
	return j.saveMembership(reply)
}

// saveMembership writes down what the pool gave. The certificate comes first: without servers.json this host joins again.
func (j hostAdmission) saveMembership(r admission.JoinReply) error {
	if err := j.m.cfg.Identity.Install(r.Certificate, r.CA); err != nil {
		return err
	}
	accepted, _, err := j.m.poolCache.Update(r.PoolInfo)
	if err == nil && !accepted {
		err = fmt.Errorf("this host belongs to pool %s, not to %s: `pinion down --purge` makes it free for another pool", j.m.PoolID(), r.PoolInfo.Pool)
	}
	if err == nil {
		j.m.log.Info("this host belongs to the pool now", "pool", r.PoolInfo.Pool, "servers", r.PoolInfo.Servers)
	}
	return err
}

// admitHost has the leader decide on a host that wants to join. Any host of the pool can be asked.
func (a peerAPI) admitHost(ctx context.Context, r admission.JoinRequest) (reply admission.JoinReply, err error) {
	err = Leadership(a).callLeader(ctx, pathAdmit, r, &reply, func(s *Server) (err error) {
		reply, err = s.authority.Admit(ctx, r)
		return err
	})
	return reply, err
}

func (a peerAPI) handleAdmit(ctx context.Context, _ string, r admission.JoinRequest) (admission.JoinReply, error) {
	own, err := a.m.leadingServer()
	if err != nil {
		return admission.JoinReply{}, err
	}
	return own.authority.Admit(ctx, r)
}

// renewCert has the leader sign a new certificate for this host.
func (j hostAdmission) renewCert(ctx context.Context, csr []byte) ([]byte, error) {
	var reply admission.JoinReply
	err := Leadership(j).callLeader(ctx, pathRenew, csr, &reply, func(s *Server) (err error) {
		reply, err = s.authority.Renew(ctx, j.m.cfg.HostID, csr)
		return err
	})
	return reply.Certificate, err
}

func (a peerAPI) handleRenew(ctx context.Context, from string, csr []byte) (admission.JoinReply, error) {
	own, err := a.m.leadingServer()
	if err != nil {
		return admission.JoinReply{}, err
	}
	return own.authority.Renew(ctx, from, csr)
}

// Tokens are the pool's join tokens. They can be created, revoked and listed where this host leads.
func (m *Member) Tokens() *admission.JoinTokens {
	return &admission.JoinTokens{Store: m, Fingerprint: m.cfg.Identity.Fingerprint, Now: m.cfg.Now}
}

// Keys are the access keys of the pool's clients.
func (m *Member) Keys() Keys { return Keys{m} }

// Keys creates and removes access keys where this host leads, and opens their secrets where it is a server; elsewhere its
// methods fail with spec.ErrNotLeader.
type Keys struct{ member *Member }

// CreateKey is admission.AccessKeys.CreateKey.
func (k Keys) CreateKey(ctx context.Context, role spec.Role, cluster string) (spec.AccessKey, error) {
	own := k.member.localServer()
	if own == nil {
		return spec.AccessKey{}, errNotServer
	}
	return own.accessKeys.CreateKey(ctx, role, cluster)
}

// RemoveKey is admission.AccessKeys.RemoveKey.
func (k Keys) RemoveKey(ctx context.Context, id string) error {
	own := k.member.localServer()
	if own == nil {
		return errNotServer
	}
	return own.accessKeys.RemoveKey(ctx, id)
}

// KeySecret is admission.AccessKeys.KeySecret.
func (k Keys) KeySecret(key *spec.AccessKey) (string, error) {
	own := k.member.localServer()
	if own == nil {
		return "", errNotServer
	}
	return own.accessKeys.KeySecret(key)
}

// BootstrapKey is admission.AccessKeys.BootstrapKey of the leader, whichever host that is.
func (m *Member) BootstrapKey(ctx context.Context) (key spec.AccessKey, created bool, err error) {
	err = Leadership{m}.callLeader(ctx, pathBootstrapKey, struct{}{}, &key, func(s *Server) (err error) {
		key, created, err = s.accessKeys.BootstrapKey(ctx)
		return err
	})
	return key, created, err
}

// handleBootstrapKey gives the admin key to a host of the pool: its root may do everything through its socket anyway.
func (a peerAPI) handleBootstrapKey(ctx context.Context, _ string, _ struct{}) (spec.AccessKey, error) {
	own, err := a.m.leadingServer()
	if err != nil {
		return spec.AccessKey{}, err
	}
	key, _, err := own.accessKeys.BootstrapKey(ctx)
	return key, err
}

// handleKeyring gives this server's keyring to another server.
func (a peerAPI) handleKeyring(context.Context, string, struct{}) ([][]byte, error) {
	own := a.m.localServer()
	if own == nil {
		return nil, errNotServer
	}
	return own.accessKeys.Keyring.Keys(), nil
}

// otherServers are the addresses of the servers in Raft's configuration, but for this one.
func (s *Server) otherServers() []string {
	var addresses []string
	for id, server := range s.servers.Configured() {
		if id != raft.ServerID(s.cfg.HostID) {
			addresses = append(addresses, string(server.Address))
		}
	}
	return addresses
}
