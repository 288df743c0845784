// Package jointoken has the tokens with which machines join the pool, how the state keeps them, and the commands that change them. Package
// raftfsm registers both.
//
// Joining is one step. AdmitHost checks the join token, counts its use and remembers the host's public key. The same host with the same key may
// ask again and counts once. Another key never gets a known id, or a token would be enough to take another host's identity, unless the leader
// vouches that the CA signed it before. A host without the secret learns nothing about its token.
package jointoken

import (
	"cmp"
	"crypto/subtle"
	"fmt"
	"iter"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Roles of join tokens.
const (
	RoleHost  = "host"  // the pool chooses servers among the hosts
	RoleAgent = "agent" // the hosts never become servers
)

// Token lets hosts into the pool: as many as Uses, until Expires. The state knows its secret by the hash only.
type Token struct {
	ID         string    `json:"id"`         // part of the token's text; names it in lists
	SecretHash string    `json:"secretHash"` // hex SHA-256 of the secret
	Role       string    `json:"role"`       // RoleHost, RoleAgent
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
	ErrUnknown = fmt.Errorf("this pool has not made such a join token, or has forgotten it: make a new one with `pinion token`")
	ErrWrong   = fmt.Errorf("the secret of the join token is wrong: copy the whole token, or make a new one with `pinion token`")
	ErrRevoked = fmt.Errorf("the join token was revoked: make a new one with `pinion token`")
	ErrExpired = fmt.Errorf("the join token has expired: make a new one with `pinion token`")
	ErrUsedUp  = fmt.Errorf("the join token is used up: make a new one with `pinion token`")
)

// Refusal says why the token lets no further host in at the moment: nil, ErrRevoked, ErrExpired or
// ErrUsedUp.
func (t *Token) Refusal(at time.Time) error {
	if err := t.Ended(at); err != nil {
		return err
	}
	if t.Used >= t.Uses {
		return fmt.Errorf("%w (%d of %d)", ErrUsedUp, t.Used, t.Uses)
	}
	return nil
}

// Ended is Refusal for a host that the token has let in already: nil, ErrRevoked or ErrExpired.
func (t *Token) Ended(at time.Time) error {
	if t.Revoked {
		return fmt.Errorf("%w (at %s)", ErrRevoked, formatTime(t.EndedAt))
	}
	if !at.Before(t.Expires) {
		return fmt.Errorf("%w (at %s)", ErrExpired, formatTime(t.Expires))
	}
	return nil
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ClusterName is the cluster whose tasks the hosts run that it lets in.
func (t *Token) ClusterName() string { return cmp.Or(t.Cluster, spec.DefaultCluster) }

// CheckCluster refuses a host that was told to serve another cluster; it need not be told any.
func (t *Token) CheckCluster(cluster string) error {
	if cluster == "" || cluster == t.ClusterName() {
		return nil
	}
	return fmt.Errorf("join token %s is for the cluster %s, not for %s: make one with `pinion token --cluster %s`, or leave --cluster out", t.ID, t.ClusterName(), cluster, cluster)
}

// Count returns the token with one more use.
func (t *Token) Count(at time.Time) *Token {
	token := *t
	token.Used++
	if token.Used == token.Uses {
		token.EndedAt = at
	}
	return &token
}

// Matches compares the hash of a secret with the token's, in a time that tells nothing.
func (t *Token) Matches(secretHash string) bool {
	return subtle.ConstantTimeCompare([]byte(t.SecretHash), []byte(secretHash)) == 1
}

// End returns the time at which the token let its last host in: no later than Expires.
func (t *Token) End() time.Time {
	if t.EndedAt.IsZero() || t.Expires.Before(t.EndedAt) {
		return t.Expires
	}
	return t.EndedAt
}

// ByID has every join token.
var ByID = table.By(func(t *Token) string { return t.ID })

// All lists the join tokens that were not revoked, including tokens that expired or were used up within the last day.
func All(r table.Reader) []*Token {
	var tokens []*Token
	for token := range ByID.All(r) {
		if !token.Revoked {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// Find returns a join token, also a revoked one. Nil when the id is unknown or was reaped.
func Find(r table.Reader, id string) *Token { return ByID.Get(r, sortkey.Key{First: id}) }

// Expired visits the join tokens that let their last host in before a moment.
func Expired(r table.Reader, before time.Time) iter.Seq[*Token] {
	return ByID.Matching(r, func(t *Token) bool { return t.End().Before(before) })
}
