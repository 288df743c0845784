package admission

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
	"pinion/raftfsm/jointoken"
	"pinion/server/id"
)

const (
	tokenVersion         = "pinion1"
	tokenFingerprintSize = 16 // bytes of the CA's fingerprint in a token
	defaultTTL           = time.Hour
	defaultUses          = 1
)

var tokenEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// JoinToken is the content of a join token: pinion1.<fingerprint>.<id>.<secret>. A new host recognizes its pool by the
// fingerprint; the pool admits the host for the id and the secret.
type JoinToken struct {
	Fingerprint []byte // the first 16 bytes of the SHA-256 of the CA's certificate
	ID, Secret  string
}

// ErrTokenFormat is wrapped by the errors of ParseToken.
var ErrTokenFormat = errors.New("this is not a join token: copy the whole text that `pinion token` printed")

// ParseToken reads the text of a join token.
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

// String is the text of the token, as people pass it on.
func (t JoinToken) String() string {
	return strings.Join([]string{tokenVersion, strings.ToLower(tokenEncoding.EncodeToString(t.Fingerprint)), t.ID, t.Secret}, ".")
}

// newToken returns a token with a new id and a secret of 160 random bits. fingerprint is the CA's, in hex.
func newToken(fingerprint string) (JoinToken, error) {
	raw, err := hex.DecodeString(fingerprint)
	if err != nil || len(raw) < tokenFingerprintSize {
		return JoinToken{}, fmt.Errorf("the fingerprint of the pool's CA is %q: not a SHA-256 in hex", fingerprint)
	}
	secret := strings.ToLower(tokenEncoding.EncodeToString(id.RandomBytes(20)))
	return JoinToken{Fingerprint: raw[:tokenFingerprintSize], ID: hex.EncodeToString(id.RandomBytes(4)), Secret: secret}, nil
}

// Store is what JoinTokens need of the host that they are created on. Both fail where it does not lead.
type Store interface {
	Proposer
	View(ctx context.Context) (*raftfsm.View, error)
}

// JoinTokens creates, revokes and lists join tokens. The state holds only the hash of a token's secret.
type JoinTokens struct {
	Store       Store
	Fingerprint func() string // of the pool's CA, in hex
	Now         func() time.Time
}

// CreateJoinToken makes a token for uses hosts within ttl; 0 of either is the default (1 host, 1 h). role is one of spec's, TokenRoleHost when it
// is empty. The hosts serve the cluster, the default one when it is empty.
func (j *JoinTokens) CreateJoinToken(ctx context.Context, ttl time.Duration, uses int, role, cluster string) (string, error) {
	if role = cmp.Or(role, jointoken.RoleHost); role != jointoken.RoleHost && role != jointoken.RoleAgent {
		return "", fmt.Errorf("the role of a join token is %q or %q, not %q", jointoken.RoleHost, jointoken.RoleAgent, role)
	}
	if ttl < 0 || uses < 0 {
		return "", errors.New("a join token has a lifetime and a number of uses above 0")
	}
	token, err := newToken(j.Fingerprint())
	if err != nil {
		return "", err
	}
	now := j.Now()
	_, err = j.Store.Propose(ctx, raftfsm.Wrap(jointoken.Create{Token: jointoken.Token{
		ID: token.ID, SecretHash: sha256Hex([]byte(token.Secret)), Role: role,
		Uses: cmp.Or(uses, defaultUses), CreatedAt: now, Expires: now.Add(cmp.Or(ttl, defaultTTL)), Cluster: cluster,
	}}))
	return token.String(), err
}

// RevokeJoinToken ends a token. spec.ErrNotFound.
func (j *JoinTokens) RevokeJoinToken(ctx context.Context, tokenID string) error {
	_, err := j.Store.Propose(ctx, raftfsm.Wrap(jointoken.Revoke{ID: tokenID, At: j.Now()}))
	return err
}

// Tokens lists the pool's join tokens.
func (j *JoinTokens) Tokens(ctx context.Context) ([]*jointoken.Token, error) {
	view, err := j.Store.View(ctx)
	if err != nil {
		return nil, err
	}
	return jointoken.All(view), nil
}
