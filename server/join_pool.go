package server

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// joinRequest is what a host that wants to join sends, to a server that has proved to be of the token's pool.
type joinRequest struct {
	HostID       string `json:"hostId"`
	TokenID      string `json:"tokenId"`
	Secret       string `json:"secret"`
	CSR          []byte `json:"request"`          // for a certificate (PEM)
	PreviousCert []byte `json:"former,omitempty"` // the certificate (PEM) that the host had before, if any
}

// joinReply is what it gets.
type joinReply struct {
	Certificate []byte        `json:"certificate"` // of this host (PEM)
	CA          []byte        `json:"authority"`   // certificate of the pool's authority (PEM)
	PoolInfo    spec.PoolInfo `json:"outlook"`
}

const (
	// joinTimeout is how long a pool that cannot answer is asked again.
	joinTimeout = 30 * time.Second
	joinBackoff = 500 * time.Millisecond
)

// join gets this host its certificate, and with it its place in the pool. A pool that has no leader at the moment is
// asked again; a refusal is final.
func (m *Member) join(ctx context.Context) error {
	token, err := ParseToken(m.cfg.Token)
	if err != nil {
		return fmt.Errorf("join the pool at %s: %w", m.cfg.Join, err)
	}
	request, err := m.cfg.Identity.NewRequest()
	if err != nil {
		return err
	}
	client := peer.JoinClient(token.Fingerprint, m.cfg.Now)
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, joinTimeout)
	defer cancel()
	door := &rpc.Client{HTTP: client}
	ask := joinRequest{HostID: m.cfg.HostID, TokenID: token.ID, Secret: token.Secret, CSR: request, PreviousCert: m.cfg.Identity.PreviousCert()}
	for {
		var answer joinReply
		err := door.Call(ctx, m.cfg.Join, pathJoin, ask, &answer)
		if err == nil {
			return m.saveMembership(answer)
		}
		if !errors.Is(err, spec.ErrUnavailable) || errors.Is(err, peer.ErrOtherPool) {
			return fmt.Errorf("join the pool at %s: %w", m.cfg.Join, err)
		}
		m.log.Warn("the pool cannot let this host in now, will try again", "address", m.cfg.Join, "error", err)
		select {
		case <-time.After(joinBackoff):
		case <-ctx.Done():
			return fmt.Errorf("join the pool at %s: %w", m.cfg.Join, err)
		}
	}
}

// saveMembership writes down what the pool gave. The certificate comes first: without servers.json this host joins again.
func (m *Member) saveMembership(a joinReply) error {
	if err := m.cfg.Identity.Install(a.Certificate, a.CA); err != nil {
		return err
	}
	believed, _, err := m.poolCache.update(a.PoolInfo)
	if err == nil && !believed {
		err = fmt.Errorf("this host belongs to pool %s, not to %s: `pinion down --purge` makes it free for another pool", m.PoolID(), a.PoolInfo.Pool)
	}
	if err == nil {
		m.log.Info("this host belongs to the pool now", "pool", a.PoolInfo.Pool, "servers", a.PoolInfo.Servers)
	}
	return err
}

// joinHandler answers hosts that have no certificate yet. Any host of the pool can be asked; it has the leader decide.
func (m *Member) joinHandler() http.Handler {
	handle := rpc.JSON(func(ctx context.Context, _ string, ask joinRequest) (answer joinReply, err error) {
		err = m.callLeader(ctx, pathAdmit, ask, &answer, func(s *Server) (err error) {
			answer, err = s.admitHost(ctx, ask)
			return err
		})
		return answer, err
	})
	all := http.NewServeMux()
	all.HandleFunc("POST "+pathJoin, func(w http.ResponseWriter, r *http.Request) { handle(w, r, "") })
	all.HandleFunc("POST "+pathRemovalStatus, func(w http.ResponseWriter, r *http.Request) { rpc.JSON(m.handleRemovalStatus)(w, r, "") })
	return all
}

func (m *Member) handleAdmit(ctx context.Context, _ string, ask joinRequest) (joinReply, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return joinReply{}, err
	}
	return own.admitHost(ctx, ask)
}

// admitHost is the leader's decision on a host that wants to join.
func (s *Server) admitHost(ctx context.Context, ask joinRequest) (joinReply, error) {
	key, err := publicKeyHash(ask.CSR)
	if err != nil {
		return joinReply{}, err
	}
	admit := raftfsm.AdmitHost{HostID: ask.HostID, Key: key, TokenID: ask.TokenID, SecretHash: sha256Hex([]byte(ask.Secret)), At: s.cfg.Now()}
	_, err = s.Propose(ctx, admit)
	if errors.Is(err, spec.ErrInUse) && s.verifyPreviousCert(ask) {
		admit.Vouched = true
		_, err = s.Propose(ctx, admit)
	}
	if err != nil {
		return joinReply{}, err
	}
	s.log.Info("a host was let in", "id", ask.HostID, "token", ask.TokenID)
	return s.signCert(ask.HostID, ask.CSR)
}

// verifyPreviousCert reports whether the pool's authority knows the host by the key that it asks with, whatever the state remembers
// of it: nobody let the first host in, and hosts of before changed their keys.
func (s *Server) verifyPreviousCert(ask joinRequest) bool {
	authority := s.state.View().CA()
	if authority == nil || ask.PreviousCert == nil {
		return false
	}
	err := pki.VerifyPossession(*authority, ask.PreviousCert, ask.CSR, ask.HostID)
	if err != nil {
		s.log.Warn("a host that joins does not prove to be who it was", "id", ask.HostID, "reason", err)
	}
	return err == nil
}

// signCert signs a certificate for a host.
func (s *Server) signCert(hostID string, request []byte) (joinReply, error) {
	authority := s.state.View().CA()
	if authority == nil {
		return joinReply{}, fmt.Errorf("%w: the pool's authority is not recorded yet", ErrNotLeader)
	}
	cert, err := pki.Sign(*authority, request, hostID, nil, s.cfg.Now())
	return joinReply{Certificate: cert, CA: authority.Certificate, PoolInfo: s.buildPoolInfo()}, err
}

// publicKeyHash is the hash of the public key in a certificate request.
func publicKeyHash(request []byte) (string, error) {
	block, _ := pem.Decode(request)
	if block == nil {
		return "", errors.New("the certificate request is not in PEM form")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("the certificate request cannot be read: %w", err)
	}
	return sha256Hex(parsed.RawSubjectPublicKeyInfo), nil
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// renewCert has the leader sign a new certificate for this host.
func (m *Member) renewCert(ctx context.Context, request []byte) ([]byte, error) {
	var answer joinReply
	err := m.callLeader(ctx, pathRenew, request, &answer, func(s *Server) (err error) {
		answer, err = s.signCert(m.cfg.HostID, request)
		return err
	})
	return answer.Certificate, err
}

func (m *Member) handleRenew(ctx context.Context, from string, request []byte) (joinReply, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return joinReply{}, err
	}
	if err := own.CheckLeader(ctx); err != nil {
		return joinReply{}, err
	}
	if own.state.View().Removed(from) {
		return joinReply{}, fmt.Errorf("host %s: %w", from, spec.ErrRemoved)
	}
	return own.signCert(from, request)
}
