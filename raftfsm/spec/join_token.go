package spec

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"time"
)

// Roles of join tokens.
const (
	TokenRoleHost  = "host"  // the pool chooses servers among the hosts
	TokenRoleAgent = "agent" // the hosts never become servers
)

// JoinToken lets hosts into the pool: as many as Uses, until Expires. The state knows its secret by the hash only.
type JoinToken struct {
	ID         string    `json:"id"`         // part of the token's text; names it in lists
	SecretHash string    `json:"secretHash"` // hex SHA-256 of the secret
	Role       string    `json:"role"`       // TokenRoleHost, TokenRoleAgent
	Uses       int       `json:"uses"`       // hosts that it lets in, from 1
	Used       int       `json:"used"`       // hosts that it has let in
	Expires    time.Time `json:"expires"`
	CreatedAt  time.Time `json:"createdAt"`
	Revoked    bool      `json:"revoked,omitempty"`
	EndedAt    time.Time `json:"endedAt,omitzero"`  // when it was revoked or used up
	Cluster    string    `json:"cluster,omitempty"` // whose tasks the hosts run that it lets in; empty is the default one
}

// Why a join token is refused. A host without the token's secret learns only the first two.
var (
	ErrJoinTokenUnknown = fmt.Errorf("this pool has not made such a join token, or has forgotten it: make a new one with `pinion token`")
	ErrJoinTokenWrong   = fmt.Errorf("the secret of the join token is wrong: copy the whole token, or make a new one with `pinion token`")
	ErrJoinTokenRevoked = fmt.Errorf("the join token was revoked: make a new one with `pinion token`")
	ErrJoinTokenExpired = fmt.Errorf("the join token has expired: make a new one with `pinion token`")
	ErrJoinTokenUsedUp  = fmt.Errorf("the join token is used up: make a new one with `pinion token`")
)

// Refusal says why the token lets no further host in at the moment: nil, ErrTokenRevoked, ErrTokenExpired or
// ErrTokenUsedUp.
func (t *JoinToken) Refusal(at time.Time) error {
	if err := t.Ended(at); err != nil {
		return err
	}
	if t.Used >= t.Uses {
		return fmt.Errorf("%w (%d of %d)", ErrJoinTokenUsedUp, t.Used, t.Uses)
	}
	return nil
}

// Ended is Refusal for a host that the token has let in already: nil, ErrTokenRevoked or ErrTokenExpired.
func (t *JoinToken) Ended(at time.Time) error {
	if t.Revoked {
		return fmt.Errorf("%w (at %s)", ErrJoinTokenRevoked, formatTime(t.EndedAt))
	}
	if !at.Before(t.Expires) {
		return fmt.Errorf("%w (at %s)", ErrJoinTokenExpired, formatTime(t.Expires))
	}
	return nil
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ClusterName is the cluster whose tasks the hosts run that it lets in.
func (t *JoinToken) ClusterName() string { return cmp.Or(t.Cluster, DefaultCluster) }

// CheckCluster refuses a host that was told to serve another cluster; it need not be told any.
func (t *JoinToken) CheckCluster(cluster string) error {
	if cluster == "" || cluster == t.ClusterName() {
		return nil
	}
	return fmt.Errorf("join token %s is for the cluster %s, not for %s: make one with `pinion token --cluster %s`, or leave --cluster out", t.ID, t.ClusterName(), cluster, cluster)
}

// Count returns the token with one more use.
func (t *JoinToken) Count(at time.Time) *JoinToken {
	token := *t
	token.Used++
	if token.Used == token.Uses {
		token.EndedAt = at
	}
	return &token
}

// Matches compares the hash of a secret with the token's, in a time that tells nothing.
func (t *JoinToken) Matches(secretHash string) bool {
	return subtle.ConstantTimeCompare([]byte(t.SecretHash), []byte(secretHash)) == 1
}

// End is when the token let its last host in: no later than Expires.
func (t *JoinToken) End() time.Time {
	if t.EndedAt.IsZero() || t.Expires.Before(t.EndedAt) {
		return t.Expires
	}
	return t.EndedAt
}
