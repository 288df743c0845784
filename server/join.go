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
)

// admission is what a host that wants to join sends, to a server that has proved to be of the token's pool.
type admission struct {
	HostID  string `json:"hostId"`
	TokenID string `json:"tokenId"`
	Secret  string `json:"secret"`
	Request []byte `json:"request"`          // for a certificate (PEM)
	Former  []byte `json:"former,omitempty"` // the certificate (PEM) that the host had before, if any
}

// admitted is what it gets.
type admitted struct {
	Certificate []byte  `json:"certificate"` // of this host (PEM)
	Authority   []byte  `json:"authority"`   // certificate of the pool's authority (PEM)
	Outlook     outlook `json:"outlook"`
}

const (
	// joinPatience is how long a pool that cannot answer is asked again.
	joinPatience = 30 * time.Second
	joinPause    = 500 * time.Millisecond
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
	ctx, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	door := &calls{client}
	ask := admission{HostID: m.cfg.HostID, TokenID: token.ID, Secret: token.Secret, Request: request, Former: m.cfg.Identity.Former()}
	for {
		var answer admitted
		err := door.post(ctx, m.cfg.Join, pathJoin, ask, &answer)
		if err == nil {
			return m.enroll(answer)
		}
		if !errors.Is(err, spec.ErrUnavailable) || errors.Is(err, peer.ErrOtherPool) {
			return fmt.Errorf("join the pool at %s: %w", m.cfg.Join, err)
		}
		m.log.Warn("the pool cannot let this host in now, will try again", "address", m.cfg.Join, "error", err)
		select {
		case <-time.After(joinPause):
		case <-ctx.Done():
			return fmt.Errorf("join the pool at %s: %w", m.cfg.Join, err)
		}
	}
}

// enroll writes down what the pool gave. The certificate comes first: without servers.json this host joins again.
func (m *Member) enroll(a admitted) error {
	if err := m.cfg.Identity.Install(a.Certificate, a.Authority); err != nil {
		return err
	}
	believed, _, err := m.book.learn(a.Outlook)
	if err == nil && !believed {
		err = fmt.Errorf("this host belongs to pool %s, not to %s: `pinion down --purge` makes it free for another pool", m.PoolID(), a.Outlook.Pool)
	}
	if err == nil {
		m.log.Info("this host belongs to the pool now", "pool", a.Outlook.Pool, "servers", a.Outlook.Servers)
	}
	return err
}

// joinHandler answers hosts that have no certificate yet. Any host of the pool can be asked; it has the leader decide.
func (m *Member) joinHandler() http.Handler {
	handle := answering(func(ctx context.Context, _ string, ask admission) (answer admitted, err error) {
		err = m.ask(ctx, pathAdmit, ask, &answer, func(s *Server) (err error) {
			answer, err = s.admit(ctx, ask)
			return err
		})
		return answer, err
	})
	all := http.NewServeMux()
	all.HandleFunc("POST "+pathJoin, func(w http.ResponseWriter, r *http.Request) { handle(w, r, "") })
	all.HandleFunc("POST "+pathStanding, func(w http.ResponseWriter, r *http.Request) { answering(m.answerStanding)(w, r, "") })
	return all
}

func (m *Member) answerAdmit(ctx context.Context, _ string, ask admission) (admitted, error) {
	own, _, err := m.leads()
	if err != nil {
		return admitted{}, err
	}
	return own.admit(ctx, ask)
}

// admit is the leader's decision on a host that wants to join.
func (s *Server) admit(ctx context.Context, ask admission) (admitted, error) {
	key, err := keyOf(ask.Request)
	if err != nil {
		return admitted{}, err
	}
	admit := raftfsm.AdmitHost{HostID: ask.HostID, Key: key, TokenID: ask.TokenID, SecretHash: hashOf([]byte(ask.Secret)), At: s.cfg.Now()}
	_, err = s.Apply(ctx, admit)
	if errors.Is(err, spec.ErrInUse) && s.vouches(ask) {
		admit.Vouched = true
		_, err = s.Apply(ctx, admit)
	}
	if err != nil {
		return admitted{}, err
	}
	s.log.Info("a host was let in", "id", ask.HostID, "token", ask.TokenID)
	return s.certify(ask.HostID, ask.Request)
}

// vouches reports whether the pool's authority knows the host by the key that it asks with, whatever the state remembers
// of it: nobody let the first host in, and hosts of before changed their keys.
func (s *Server) vouches(ask admission) bool {
	authority := s.state.View().Authority()
	if authority == nil || ask.Former == nil {
		return false
	}
	err := pki.Vouches(*authority, ask.Former, ask.Request, ask.HostID)
	if err != nil {
		s.log.Warn("a host that joins does not prove to be who it was", "id", ask.HostID, "reason", err)
	}
	return err == nil
}

// certify signs a certificate for a host.
func (s *Server) certify(hostID string, request []byte) (admitted, error) {
	authority := s.state.View().Authority()
	if authority == nil {
		return admitted{}, fmt.Errorf("%w: the pool's authority is not recorded yet", ErrNotLeader)
	}
	cert, err := pki.Sign(*authority, request, hostID, nil, s.cfg.Now())
	return admitted{Certificate: cert, Authority: authority.Certificate, Outlook: s.lookOut()}, err
}

// keyOf is the hash of the public key in a certificate request.
func keyOf(request []byte) (string, error) {
	block, _ := pem.Decode(request)
	if block == nil {
		return "", errors.New("the certificate request is not in PEM form")
	}
	parsed, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("the certificate request cannot be read: %w", err)
	}
	return hashOf(parsed.RawSubjectPublicKeyInfo), nil
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// renew has the leader sign a new certificate for this host.
func (m *Member) renew(ctx context.Context, request []byte) ([]byte, error) {
	var answer admitted
	err := m.ask(ctx, pathRenew, request, &answer, func(s *Server) (err error) {
		answer, err = s.certify(m.cfg.HostID, request)
		return err
	})
	return answer.Certificate, err
}

func (m *Member) answerRenew(ctx context.Context, from string, request []byte) (admitted, error) {
	own, _, err := m.leads()
	if err != nil {
		return admitted{}, err
	}
	if err := own.checkLeader(ctx); err != nil {
		return admitted{}, err
	}
	if own.state.View().Removed(from) {
		return admitted{}, fmt.Errorf("host %s: %w", from, spec.ErrRemoved)
	}
	return own.certify(from, request)
}
