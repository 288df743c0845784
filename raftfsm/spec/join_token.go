package spec

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
