package admission

import (
	"context"

	"pinion/raftfsm/accesskey"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// The calls between hosts about their admission. Any host may make them, those under /peer/leader/ to the leader.
const (
	PathRenew   = "/peer/leader/renew" // for a new certificate
	PathAdmit   = "/peer/leader/admit" // for a host that wants to join at this one
	PathHostKey = "/peer/leader/key"   // for the access key of the host
	PathRoot    = "/peer/leader/root"  // says which root the certificate of the host is of
)

// HostCalls are the calls of hosts to the leader about their admission: this host makes them by the methods, and the leader answers others by Routes.
type HostCalls struct {
	Leader    rpc.Leadership
	HostID    string // of this host
	Identity  *pki.Identity
	Authority func() (*Authority, error)  // of the server here, while it leads
	Keys      func() (*AccessKeys, error) // of the server here, while it leads
	IsServer  func(hostID string) bool
}

// AdmitHost has the leader decide on a host that wants to join. Any host of the pool can be asked.
func (c *HostCalls) AdmitHost(ctx context.Context, r JoinRequest) (JoinReply, error) {
	return c.admit().Do(ctx, c.Leader, c.HostID, r)
}

// RenewCertificate has the leader sign a new certificate for this host.
func (c *HostCalls) RenewCertificate(ctx context.Context, csr []byte) ([]byte, error) {
	var reply JoinReply
	err := c.Leader.CallLeaderAt(ctx, PathRenew, csr, &reply, func() error {
		authority, err := c.Authority()
		if err != nil {
			return err
		}
		shown, err := c.Identity.Certificate()
		if err == nil {
			reply, err = authority.RenewCertificate(ctx, shown.Leaf, csr)
		}
		return err
	})
	if err == nil && len(reply.PoolInfo.CA.Newest) > 0 { // the certificate may be of a root that this host has not heard of
		err = c.Identity.Roots().Trust(reply.PoolInfo.CA)
	}
	return reply.Certificate, err
}

// RecordRoot tells the leader which root the certificate of this host is of.
func (c *HostCalls) RecordRoot(ctx context.Context, root string) error {
	_, err := c.root().Do(ctx, c.Leader, c.HostID, root)
	return err
}

// HostKey is AccessKeys.HostKey of the leader for this host, whichever host leads.
func (c *HostCalls) HostKey(ctx context.Context) (accesskey.Key, error) {
	return c.hostKey().Do(ctx, c.Leader, c.HostID, struct{}{})
}

// Routes answers other hosts, by the paths of the calls.
func (c *HostCalls) Routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{
		PathRenew:   rpc.JSON(c.answerRenewal),
		PathAdmit:   c.admit().Handler(),
		PathHostKey: c.hostKey().Handler(),
		PathRoot:    c.root().Handler(),
	}
}

func (c *HostCalls) answerRenewal(ctx context.Context, _ string, csr []byte) (JoinReply, error) {
	authority, err := c.Authority()
	if err != nil {
		return JoinReply{}, err
	}
	return authority.RenewCertificate(ctx, peer.Certificate(ctx), csr)
}

func (c *HostCalls) admit() rpc.LeaderCall[JoinRequest, JoinReply] {
	return rpc.LeaderCall[JoinRequest, JoinReply]{Path: PathAdmit, Answer: func(ctx context.Context, _ string, r JoinRequest) (JoinReply, error) {
		authority, err := c.Authority()
		if err != nil {
			return JoinReply{}, err
		}
		return authority.AdmitHost(ctx, r)
	}}
}

func (c *HostCalls) root() rpc.LeaderCall[string, struct{}] {
	return rpc.LeaderCall[string, struct{}]{Path: PathRoot, Answer: func(ctx context.Context, from, root string) (struct{}, error) {
		authority, err := c.Authority()
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, authority.RecordRoot(ctx, from, root)
	}}
}

func (c *HostCalls) hostKey() rpc.LeaderCall[struct{}, accesskey.Key] {
	return rpc.LeaderCall[struct{}, accesskey.Key]{Path: PathHostKey, Answer: func(ctx context.Context, from string, _ struct{}) (accesskey.Key, error) {
		keys, err := c.Keys()
		if err != nil {
			return accesskey.Key{}, err
		}
		return keys.HostKey(ctx, from, c.IsServer(from))
	}}
}

// KeyringHandler gives the keyring of the server here to another server; keys are that server's, whether it leads or not.
func KeyringHandler(keys func() (*AccessKeys, error)) rpc.HandlerFunc {
	return rpc.ServerJSON(func(context.Context, string, struct{}) ([][]byte, error) {
		own, err := keys()
		if err != nil {
			return nil, err
		}
		return own.Shared(), nil
	})
}
