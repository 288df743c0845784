package raftfsm

import (
	"fmt"
	"iter"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableJoinTokens = register(noun[spec.JoinToken]{
		table: "joinTokens", indexes: []*table.Index[spec.JoinToken]{joinTokensByID},
		commands:  []kind{kindOf[CreateJoinToken](4, 1), kindOf[RevokeJoinToken](5, 1)},
		noChanges: "only administrators may list them", noCluster: "the first host of a cluster creates it",
		expired: func(v *View, r Reap) iter.Seq[*spec.JoinToken] {
			return joinTokensByID.Matching(v, func(t *spec.JoinToken) bool { return t.End().Before(r.TokensBefore) })
		},
	})
	joinTokensByID = table.By(func(t *spec.JoinToken) string { return t.ID })
)

// JoinTokens lists the join tokens that were not revoked, including tokens that expired or were used up within the last
// day.
func (v *View) JoinTokens() []*spec.JoinToken {
	var tokens []*spec.JoinToken
	for token := range joinTokensByID.All(v) {
		if !token.Revoked {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// JoinToken returns a join token, also a revoked one. Nil when the id is unknown or was reaped.
func (v *View) JoinToken(id string) *spec.JoinToken {
	return joinTokensByID.Get(v, sortkey.Key{First: id})
}

// CreateJoinToken records a join token. Recording the same token again is a no-op; another token with the same id is
// ErrInUse. Answer: *JoinToken.
type CreateJoinToken struct{ Token spec.JoinToken }

func (c CreateJoinToken) apply(tx *tx) (any, error) {
	token := c.Token
	if token.ID == "" || token.SecretHash == "" || token.Uses < 1 || !token.CreatedAt.Before(token.Expires) {
		return nil, fmt.Errorf("join token %q needs an id, a secret, at least one use and an end after its beginning", token.ID)
	}
	token.Used, token.Revoked, token.EndedAt = 0, false, time.Time{}
	known := tx.JoinToken(token.ID)
	if known == nil {
		tx.put(tableJoinTokens, &token)
		return &token, nil
	}
	if known.SecretHash != token.SecretHash {
		return nil, fmt.Errorf("join token %s: %w: make one with another id", token.ID, spec.ErrInUse)
	}
	return known, nil
}

// RevokeJoinToken revokes a join token permanently. Hosts that it admitted stay. A repeated call is a no-op. ErrNotFound.
// Answer: *JoinToken.
type RevokeJoinToken struct {
	ID string
	At time.Time
}

func (c RevokeJoinToken) apply(tx *tx) (any, error) {
	known := tx.JoinToken(c.ID)
	if known == nil {
		return nil, fmt.Errorf("join token %q: %w", c.ID, spec.ErrNotFound)
	}
	if known.Revoked {
		return known, nil
	}
	token := *known
	token.Revoked, token.EndedAt = true, c.At
	tx.put(tableJoinTokens, &token)
	return &token, nil
}
