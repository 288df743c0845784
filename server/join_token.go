package server

import (
	"cmp"
	"context"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/id"
)

const (
	tokenVersion         = "pinion1"
	tokenFingerprintSize = 16 // bytes of the authority's fingerprint in a token
	tokenRole            = "host"
	defaultTTL           = 24 * time.Hour
	defaultUses          = 100
)

var tokenEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// JoinToken is what a token's text says: pinion1.<fingerprint>.<id>.<secret>. The fingerprint is what a new host knows
// its pool by, the rest is what the pool lets it in for.
type JoinToken struct {
	Fingerprint []byte // the first 16 bytes of the SHA-256 of the authority's certificate
	ID, Secret  string
}

// ErrTokenFormat is wrapped by what ParseToken fails with.
var ErrTokenFormat = errors.New("this is not a join token: copy the whole text that `pinion token` printed")

// ParseToken reads a token's text.
func ParseToken(text string) (JoinToken, error) {
	parts := strings.Split(strings.TrimSpace(text), ".")
	if len(parts) != 4 || parts[0] != tokenVersion || parts[2] == "" || parts[3] == "" {
		return JoinToken{}, fmt.Errorf("%w (pinion1.….….…)", ErrTokenFormat)
	}
	fingerprint, err := tokenEncoding.DecodeString(strings.ToUpper(parts[1]))
	if err != nil || len(fingerprint) != tokenFingerprintSize {
		return JoinToken{}, fmt.Errorf("%w (its second part is damaged)", ErrTokenFormat)
	}
	return JoinToken{Fingerprint: fingerprint, ID: parts[2], Secret: parts[3]}, nil
}

// String is the token as people pass it on.
func (t JoinToken) String() string {
	return strings.Join([]string{tokenVersion, strings.ToLower(tokenEncoding.EncodeToString(t.Fingerprint)), t.ID, t.Secret}, ".")
}

// CreateToken makes a token for uses hosts within ttl; 0 of either is the default (100 hosts, 24 h). role is "host".
func (m *Member) CreateToken(ctx context.Context, ttl time.Duration, uses int, role string) (string, error) {
	if role = cmp.Or(role, tokenRole); role != tokenRole {
		return "", fmt.Errorf("the role of a join token is %q, not %q", tokenRole, role)
	}
	if ttl < 0 || uses < 0 {
		return "", errors.New("a join token lives for some time and lets some hosts in")
	}
	fingerprint, err := hex.DecodeString(m.cfg.Identity.Fingerprint())
	if err != nil {
		return "", err
	}
	token := JoinToken{Fingerprint: fingerprint[:tokenFingerprintSize], ID: hex.EncodeToString(id.RandomBytes(4)), Secret: strings.ToLower(tokenEncoding.EncodeToString(id.RandomBytes(20)))}
	now := m.cfg.Now()
	_, err = m.Propose(ctx, raftfsm.CreateJoinToken{Token: spec.JoinToken{
		ID: token.ID, SecretHash: sha256Hex([]byte(token.Secret)), Role: role,
		Uses: cmp.Or(uses, defaultUses), CreatedAt: now, Expires: now.Add(cmp.Or(ttl, defaultTTL)),
	}})
	return token.String(), err
}

// RevokeToken ends a token. raftfsm.ErrNotFound.
func (m *Member) RevokeToken(ctx context.Context, id string) error {
	_, err := m.Propose(ctx, raftfsm.RevokeJoinToken{ID: id, At: m.cfg.Now()})
	return err
}

// Tokens lists the pool's join tokens.
func (m *Member) Tokens(ctx context.Context) ([]*spec.JoinToken, error) {
	view, err := m.View(ctx)
	if err != nil {
		return nil, err
	}
	return view.JoinTokens(), nil
}
