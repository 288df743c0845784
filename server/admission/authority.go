package admission

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/pki"
)

// JoinRequest is sent by a host that wants to join, to a server that has proved to be of the token's pool.
type JoinRequest struct {
	HostID       string `json:"hostId"`
	TokenID      string `json:"tokenId"`
	Secret       string `json:"secret"`
	CSR          []byte `json:"request"`          // for a certificate (PEM)
	PreviousCert []byte `json:"former,omitempty"` // the certificate (PEM) that the host had before, if any
}

// JoinReply is the answer to a JoinRequest, and to the renewal of a certificate.
type JoinReply struct {
	Certificate []byte        `json:"certificate"` // of this host (PEM)
	CA          []byte        `json:"authority"`   // certificate of the pool's CA (PEM)
	PoolInfo    spec.PoolInfo `json:"outlook"`
}

// Authority admits hosts and signs their certificates with the pool's CA. It works on the leader alone.
type Authority struct {
	Server   Server
	PoolInfo func() spec.PoolInfo // where the pool's servers are now
	Log      *slog.Logger
}

// Admit decides on a host that wants to join, and records it. The host is bound to the key of its request for ever.
func (a *Authority) Admit(ctx context.Context, r JoinRequest) (JoinReply, error) {
	key, err := publicKeyHash(r.CSR)
	if err != nil {
		return JoinReply{}, err
	}
	admit := raftfsm.AdmitHost{HostID: r.HostID, Key: key, TokenID: r.TokenID, SecretHash: sha256Hex([]byte(r.Secret)), At: a.Server.Now()}
	_, err = a.Server.Propose(ctx, admit)
	if errors.Is(err, spec.ErrInUse) && a.verifyPreviousCert(r) {
		admit.Vouched = true
		_, err = a.Server.Propose(ctx, admit)
	}
	if err != nil {
		return JoinReply{}, err
	}
	a.Log.Info("a host was admitted", "id", r.HostID, "token", r.TokenID)
	return a.sign(r.HostID, r.CSR)
}

// Renew signs a new certificate for a host of the pool. spec.ErrRemoved when the host was removed.
func (a *Authority) Renew(ctx context.Context, hostID string, csr []byte) (JoinReply, error) {
	view, err := a.Server.View(ctx)
	if err != nil {
		return JoinReply{}, err
	}
	if view.Removed(hostID) {
		return JoinReply{}, fmt.Errorf("host %s: %w", hostID, spec.ErrRemoved)
	}
	return a.sign(hostID, csr)
}

// verifyPreviousCert reports whether the CA has signed a certificate of this host for the key of the request. The state
// does not have every such key: the first host was never admitted, and keys have changed before they were recorded.
func (a *Authority) verifyPreviousCert(r JoinRequest) bool {
	ca := a.Server.State().View().CA()
	if ca == nil || r.PreviousCert == nil {
		return false
	}
	err := pki.VerifyPossession(*ca, r.PreviousCert, r.CSR, r.HostID)
	if err != nil {
		a.Log.Warn("a joining host does not prove its identity", "id", r.HostID, "reason", err)
	}
	return err == nil
}

func (a *Authority) sign(hostID string, csr []byte) (JoinReply, error) {
	ca := a.Server.State().View().CA()
	if ca == nil {
		return JoinReply{}, spec.Unavailable("the pool's CA is not recorded yet; try again in a moment")
	}
	cert, err := pki.Sign(*ca, csr, hostID, nil, a.Server.Now())
	return JoinReply{Certificate: cert, CA: ca.Certificate, PoolInfo: a.PoolInfo()}, err
}

// publicKeyHash is the SHA-256 of the public key in a certificate request.
func publicKeyHash(csr []byte) (string, error) {
	block, _ := pem.Decode(csr)
	if block == nil {
		return "", errors.New("the certificate request is not in PEM form")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("the certificate request cannot be read: %w", err)
	}
	return sha256Hex(parsed.RawSubjectPublicKeyInfo), nil
}
