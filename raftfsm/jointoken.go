package raftfsm

import (
	"crypto/subtle"
	"fmt"
	"time"
)

// JoinToken lets hosts into the pool: as many as Uses, until Expires. The state knows its secret by the hash only.
type JoinToken struct {
	ID         string    `json:"id"`         // part of the token's text; names it in lists
	SecretHash string    `json:"secretHash"` // hex SHA-256 of the secret
	Role       string    `json:"role"`       // "host"
	Uses       int       `json:"uses"`       // hosts that it lets in, from 1
	Used       int       `json:"used"`       // hosts that it has let in
	Expires    time.Time `json:"expires"`
	CreatedAt  time.Time `json:"createdAt"`
	Revoked    bool      `json:"revoked,omitempty"`
	EndedAt    time.Time `json:"endedAt,omitzero"` // when it was revoked or used up
}

// Why a join token is refused. A host without the token's secret learns only the first two.
var (
	ErrTokenUnknown = fmt.Errorf("this pool has not made such a join token, or has forgotten it: make a new one with `pinion token`")
	ErrTokenWrong   = fmt.Errorf("the secret of the join token is wrong: copy the whole token, or make a new one with `pinion token`")
	ErrTokenRevoked = fmt.Errorf("the join token was revoked: make a new one with `pinion token`")
	ErrTokenExpired = fmt.Errorf("the join token has expired: make a new one with `pinion token`")
	ErrTokenUsedUp  = fmt.Errorf("the join token is used up: make a new one with `pinion token`")
)

// Tokens lists the join tokens that were not revoked, those that expired or were used up within the last day too.
func (v *View) Tokens() []*JoinToken {
	var tokens []*JoinToken
	for token := range joinTokensByID.all(v) {
		if !token.Revoked {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// Token finds a join token, a revoked one too. Nil when the id is unknown or forgotten.
func (v *View) Token(id string) *JoinToken { return joinTokensByID.get(v, key{first: id}) }

// Refusal says why the token lets no further host in at the moment: nil, ErrTokenRevoked, ErrTokenExpired or
// ErrTokenUsedUp.
func (t *JoinToken) Refusal(at time.Time) error {
	if err := t.over(at); err != nil {
		return err
	}
	if t.Used >= t.Uses {
		return fmt.Errorf("%w (%d of %d)", ErrTokenUsedUp, t.Used, t.Uses)
	}
	return nil
}

// over is Refusal for a host that the token has let in already.
func (t *JoinToken) over(at time.Time) error {
	if t.Revoked {
		return fmt.Errorf("%w (at %s)", ErrTokenRevoked, words(t.EndedAt))
	}
	if !at.Before(t.Expires) {
		return fmt.Errorf("%w (at %s)", ErrTokenExpired, words(t.Expires))
	}
	return nil
}

func words(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// knows compares the hash of a secret with the token's, in a time that tells nothing.
func (t *JoinToken) knows(secretHash string) bool {
	return subtle.ConstantTimeCompare([]byte(t.SecretHash), []byte(secretHash)) == 1
}

// end is when the token let its last host in: no later than Expires.
func (t *JoinToken) end() time.Time {
	if t.EndedAt.IsZero() || t.Expires.Before(t.EndedAt) {
		return t.Expires
	}
	return t.EndedAt
}

// CreateToken records a join token. Storing the same again changes nothing; another one under the same id is ErrInUse.
// Answer: *JoinToken.
type CreateToken struct{ Token JoinToken }

func (c CreateToken) apply(tx *tx) (any, error) {
	token := c.Token
	if token.ID == "" || token.SecretHash == "" || token.Uses < 1 || !token.CreatedAt.Before(token.Expires) {
		return nil, fmt.Errorf("join token %q needs an id, a secret, at least one use and an end after its beginning", token.ID)
	}
	token.Used, token.Revoked, token.EndedAt = 0, false, time.Time{}
	known := tx.Token(token.ID)
	if known == nil {
		tx.put(tableJoinTokens, &token)
		return &token, nil
	}
	if known.SecretHash != token.SecretHash {
		return nil, fmt.Errorf("join token %s: %w: make one with another id", token.ID, ErrInUse)
	}
	return known, nil
}

// RevokeToken ends a join token for ever. Hosts that it has let in stay. Revoking it again changes nothing. ErrNotFound.
// Answer: *JoinToken.
type RevokeToken struct {
	ID string
	At time.Time
}

func (c RevokeToken) apply(tx *tx) (any, error) {
	known := tx.Token(c.ID)
	if known == nil {
		return nil, fmt.Errorf("join token %q: %w", c.ID, ErrNotFound)
	}
	if known.Revoked {
		return known, nil
	}
	token := *known
	token.Revoked, token.EndedAt = true, c.At
	tx.put(tableJoinTokens, &token)
	return &token, nil
}

// forgetTokens removes the join tokens that ended before the moment.
func (tx *tx) forgetTokens(before time.Time) {
	for token := range joinTokensByID.all(&tx.View) {
		if token.end().Before(before) {
			tx.remove(tableJoinTokens, token)
		}
	}
}
