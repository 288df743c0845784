package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/issuer"
	"pinion/server/admission"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/pki"
)

// hostAdmission admits this host to its pool, and keeps its certificate valid.
type hostAdmission struct {
	cfg    MemberConfig
	log    *slog.Logger
	cache  *membership.PoolCache
	leader Leadership
}

// join has the pool at Join admit this host.
func (j hostAdmission) join(ctx context.Context) error {
	reply, err := admission.Join{
		Address: j.cfg.Join, Token: j.cfg.JoinToken, HostID: j.cfg.HostID, Cluster: j.cfg.Cluster, Identity: j.cfg.Identity, Now: j.cfg.Now, Log: j.log,
	}.Do(ctx)
	if err != nil {
		return err
	}
	return j.saveMembership(reply)
}

// peerClockTimeout is how long a host that does not start asks others what time it is.
const peerClockTimeout = 5 * time.Second

// explainNoCertificate is the error of a host of a pool whose certificate is not valid now: its clock may be wrong, or it was off for too
// long.
func (j hostAdmission) explainNoCertificate(ctx context.Context) error {
	from, until := j.cfg.Identity.Validity()
	if until.IsZero() {
		return pki.ErrNoCertificate
	}
	ctx, cancel := context.WithTimeout(ctx, peerClockTimeout)
	defer cancel()
	now := j.cfg.Now()
	theirs, address, err := admission.PeerClock(ctx, j.cfg.Identity, j.cache.Peers(j.cfg.Address))
	validity := fmt.Sprintf("the certificate of this host is valid from %s to %s", from.UTC().Format(time.RFC3339), until.UTC().Format(time.RFC3339))
	offset := now.Sub(theirs)
	switch {
	case err != nil:
		return fmt.Errorf("%s, and the clock of this machine says %s: if that is wrong, set it and start again; if not, %w (%w)", validity, now.UTC().Format(time.RFC3339), pki.ErrNoCertificate, err)
	case theirs.After(from) && theirs.Before(until):
		return fmt.Errorf("the clock of this machine is %s the one of the server at %s: it says %s, there it is %s. Set it, for example with `timedatectl set-ntp true`, and start again: %s",
			liveness.DescribeOffset(offset), address, now.UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339), validity)
	case offset.Abs() >= time.Minute:
		return fmt.Errorf("the clock of this machine is %s the one of the server at %s, and %s: set the clock; then %w", liveness.DescribeOffset(offset), address, validity, pki.ErrNoCertificate)
	}
	return fmt.Errorf("%s: %w", validity, pki.ErrNoCertificate)
}

// saveMembership writes down what the pool gave. The certificate comes first: without servers.json this host joins again.
func (j hostAdmission) saveMembership(r admission.JoinReply) error {
	known := j.cache.PoolInfo().Pool
	if known != "" && known != r.PoolInfo.Pool {
		return fmt.Errorf("this host belongs to pool %s, not to %s: `pinion down --purge` makes it free for another pool", known, r.PoolInfo.Pool)
	}
	roots := r.PoolInfo.CA
	if len(roots.Newest) == 0 {
		roots.Newest = r.CA
	}
	if err := j.cfg.Identity.Roots().Join(r.Certificate, roots, known != ""); err != nil {
		return err
	}
	if !pki.VerifyText(j.cfg.Identity, membership.ServerListText(r.PoolInfo), r.PoolInfo.Signature, r.PoolInfo.CA) {
		return fmt.Errorf("the host at %s let this host in and did not prove who the servers of the pool are: it is older than this one, and has to be upgraded first, or join at a server", j.cfg.Join)
	}
	accepted, _, err := j.cache.Update(r.PoolInfo)
	if err == nil && !accepted {
		err = fmt.Errorf("this host belongs to pool %s, not to %s: `pinion down --purge` makes it free for another pool", j.cache.PoolInfo().Pool, r.PoolInfo.Pool)
	}
	if err == nil {
		j.log.Info("this host belongs to the pool now", "pool", r.PoolInfo.Pool, "servers", r.PoolInfo.Servers)
	}
	return err
}

// admitHost has the leader decide on a host that wants to join. Any host of the pool can be asked.
func (a *peerAPI) admitHost(ctx context.Context, r admission.JoinRequest) (reply admission.JoinReply, err error) {
	err = a.leader.callLeader(ctx, pathAdmit, r, &reply, func(s *Server) (err error) {
		reply, err = s.authority.Admit(ctx, r)
		return err
	})
	return reply, err
}

func (a *peerAPI) handleAdmit(ctx context.Context, _ string, r admission.JoinRequest) (admission.JoinReply, error) {
	own, err := a.server.leading()
	if err != nil {
		return admission.JoinReply{}, err
	}
	return own.authority.Admit(ctx, r)
}

// renewCert has the leader sign a new certificate for this host.
func (j hostAdmission) renewCert(ctx context.Context, csr []byte) ([]byte, error) {
	var reply admission.JoinReply
	err := j.leader.callLeader(ctx, pathRenew, csr, &reply, func(s *Server) (err error) {
		shown, err := j.cfg.Identity.Certificate()
		if err == nil {
			reply, err = s.authority.Renew(ctx, shown.Leaf, csr)
		}
		return err
	})
	if err == nil && len(reply.PoolInfo.CA.Newest) > 0 { // the certificate may be of a root that this host has not heard of
		err = j.cfg.Identity.Roots().Trust(reply.PoolInfo.CA)
	}
	return reply.Certificate, err
}

func (a *peerAPI) handleRenew(ctx context.Context, _ string, csr []byte) (admission.JoinReply, error) {
	own, err := a.server.leading()
	if err != nil {
		return admission.JoinReply{}, err
	}
	return own.authority.Renew(ctx, peer.Certificate(ctx), csr)
}

// Keys creates and removes access keys where this host leads, and opens their secrets where it is a server; elsewhere its
// methods fail with spec.ErrNotLeader.
type Keys struct{ server *localServer }

// CreateKey is admission.AccessKeys.CreateKey.
func (k Keys) CreateKey(ctx context.Context, like accesskey.Key) (accesskey.Key, error) {
	own, err := k.server.get()
	if err != nil {
		return accesskey.Key{}, err
	}
	return own.accessKeys.CreateKey(ctx, like)
}

// Login is admission.AccessKeys.Login.
func (k Keys) Login(ctx context.Context, login issuer.Login) (accesskey.Key, error) {
	own, err := k.server.get()
	if err != nil {
		return accesskey.Key{}, err
	}
	return own.accessKeys.Login(ctx, login)
}

// RemoveKey is admission.AccessKeys.RemoveKey.
func (k Keys) RemoveKey(ctx context.Context, id string) error {
	own, err := k.server.get()
	if err != nil {
		return err
	}
	return own.accessKeys.RemoveKey(ctx, id)
}

// KeySecret is admission.AccessKeys.KeySecret.
func (k Keys) KeySecret(key *accesskey.Key) (string, error) {
	own, err := k.server.get()
	if err != nil {
		return "", err
	}
	return own.accessKeys.KeySecret(key)
}

// RotateSealingKey is admission.AccessKeys.RotateSealingKey.
func (k Keys) RotateSealingKey(ctx context.Context) error {
	own, err := k.server.get()
	if err != nil {
		return err
	}
	return own.accessKeys.RotateSealingKey(ctx)
}

// HostKey is admission.AccessKeys.HostKey of the leader for this host, whichever host leads.
func (m *Member) HostKey(ctx context.Context) (key accesskey.Key, err error) {
	err = m.Leadership.callLeader(ctx, pathHostKey, struct{}{}, &key, func(s *Server) (err error) {
		key, err = s.accessKeys.HostKey(ctx, m.cfg.HostID, true)
		return err
	})
	return key, err
}

// handleHostKey gives a host its own access key.
func (a *peerAPI) handleHostKey(ctx context.Context, from string, _ struct{}) (accesskey.Key, error) {
	own, err := a.server.leading()
	if err != nil {
		return accesskey.Key{}, err
	}
	return own.accessKeys.HostKey(ctx, from, own.servers.IsServer(from))
}

// handleKeyring gives this server's keyring to another server.
func (a *peerAPI) handleKeyring(context.Context, string, struct{}) ([][]byte, error) {
	own := a.server.Load()
	if own == nil {
		return nil, errNotServer
	}
	return own.accessKeys.Shared(), nil
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
