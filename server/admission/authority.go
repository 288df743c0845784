package admission

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"pinion/packaging/failpoint"
	"pinion/raftfsm"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/seal"
)

// JoinRequest is sent by a host that wants to join, to a server that has proved to be of the token's pool.
type JoinRequest struct {
	HostID  string `json:"hostId"`
	TokenID string `json:"tokenId"`
	Secret  string `json:"secret"`
	CSR     []byte `json:"request"`           // for a certificate (PEM)
	Cluster string `json:"cluster,omitempty"` // that the host was told to serve; empty for the token's
}

// The most that a host may send that has proved nothing yet.
const (
	maxJoinField = 256
	maxJoinPEM   = 16 << 10
)

// check refuses a request that no host sends.
func (r JoinRequest) check() error {
	for name, field := range map[string]string{"host id": r.HostID, "token id": r.TokenID, "secret": r.Secret, "cluster": r.Cluster} {
		if len(field) > maxJoinField {
			return fmt.Errorf("the %s of the join request has %d characters, at most %d are read", name, len(field), maxJoinField)
		}
	}
	if len(r.CSR) > maxJoinPEM {
		return fmt.Errorf("the certificate request in the join request has more than %d bytes", maxJoinPEM)
	}
	return nil
}

// JoinReply is the answer to a JoinRequest, and to the renewal of a certificate.
type JoinReply struct {
	Certificate []byte        `json:"certificate"` // of this host (PEM)
	CA          []byte        `json:"ca"`          // certificate of the pool's CA (PEM)
	PoolInfo    spec.PoolInfo `json:"poolInfo"`
}

// Authority admits hosts and signs their certificates with the pool's CA. It works on the leader alone.
type Authority struct {
	Server   Server
	Keyring  *seal.Keyring
	PoolInfo func() spec.PoolInfo // where the pool's servers are now
	// Connected reports whether the leader hears of a host.
	Connected func(hostID string) bool
	Refusals  peer.Refusals // is told of renewals that are refused
	Log       *slog.Logger

	rotateMu sync.Mutex // one root is made at a time
}

// AdmitHost decides on a host that wants to join, and records it. The host is bound to the key of its request for ever, to the
// token's cluster and to the names that it asks for. Nothing is recorded, and no other server asked, before the token is known
// to be good.
func (a *Authority) AdmitHost(ctx context.Context, r JoinRequest) (JoinReply, error) {
	if err := r.check(); err != nil {
		return JoinReply{}, err
	}
	request, err := pki.ReadRequest(r.CSR)
	if err != nil {
		return JoinReply{}, err
	}
	admit := raftfsm.AdmitHost{
		HostID: r.HostID, Key: request.PublicKeyHash, TokenID: r.TokenID, SecretHash: sha256Hex([]byte(r.Secret)), At: a.Server.Now(),
		Cluster: r.Cluster, Names: request.Names,
	}
	if err := a.checkToken(admit); err != nil {
		return JoinReply{}, err
	}
	if _, err := a.Server.Propose(ctx, admit); err != nil {
		return JoinReply{}, err
	}
	failpoint.Reached(failpoint.HostAdmitted)
	a.Log.Info("a host was admitted", "hostId", r.HostID, "token", r.TokenID, "names", request.Names)
	return a.sign(r.HostID, r.CSR, request.Names)
}

// checkToken looks the token up in the leader's state, which has every token that was ever given out. The state machine
// decides again, and counts.
func (a *Authority) checkToken(c raftfsm.AdmitHost) error {
	token := jointoken.Find(a.Server.State().View(), c.TokenID)
	switch {
	case token == nil:
		return fmt.Errorf("join token %q: %w", c.TokenID, jointoken.ErrUnknown)
	case !token.Matches(c.SecretHash):
		return fmt.Errorf("join token %s: %w", c.TokenID, jointoken.ErrWrong)
	}
	if err := token.Ended(c.At); err != nil {
		return fmt.Errorf("join token %s: %w", c.TokenID, err)
	}
	return nil
}

// RenewCertificate signs a new certificate for a host of the pool that showed this one: for the key that it was admitted with, and of the
// names that it asks for those that it was admitted with.
// spec.ErrRemoved when the host was removed.
func (a *Authority) RenewCertificate(ctx context.Context, shown *x509.Certificate, csr []byte) (JoinReply, error) {
	hostID, err := pki.HostOf(shown)
	if err != nil {
		return JoinReply{}, err
	}
	reply, err := a.renew(ctx, hostID, csr)
	if err != nil && !errors.Is(err, spec.ErrUnavailable) {
		a.Log.Warn("a host asks for a certificate and is refused", "hostId", hostID, "reason", err)
		a.Refusals.Report(peer.Refusal{Operation: peer.OpRenew, HostID: hostID, Address: peer.CallerAddress(ctx), Reason: err})
	}
	return reply, err
}

func (a *Authority) renew(ctx context.Context, hostID string, csr []byte) (JoinReply, error) {
	view, err := a.Server.View(ctx)
	if err != nil {
		return JoinReply{}, err
	}
	if view.Removed(hostID) {
		return JoinReply{}, spec.Removed(hostID)
	}
	request, err := pki.ReadRequest(csr)
	if err != nil {
		return JoinReply{}, err
	}
	admission := view.Admission(hostID)
	if admission == nil {
		return JoinReply{}, fmt.Errorf("host %s was never admitted to the pool: join with a token", hostID)
	}
	if request.PublicKeyHash != admission.PublicKeyHash {
		return JoinReply{}, fmt.Errorf("host %s asks for a certificate for another key than it joined with: the key of a host never changes: to get another one, remove the host and join again", hostID)
	}
	return a.sign(hostID, csr, admission.Names)
}

func (a *Authority) sign(hostID string, csr []byte, names []string) (JoinReply, error) {
	ca, err := a.CA()
	if err != nil {
		return JoinReply{}, err
	}
	cert, err := pki.SignNames(ca, csr, hostID, names, a.Server.Now())
	return JoinReply{Certificate: cert, CA: ca.Certificate, PoolInfo: a.PoolInfo()}, err
}
