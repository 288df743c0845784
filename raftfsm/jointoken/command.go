package jointoken

import (
	"fmt"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
)

// Create records a join token. Recording the same token again is a no-op; another token with the same id is
// ErrInUse. Answer: *Token.
type Create struct{ Token Token }

// Apply carries the command out.
func (c Create) Apply(tx command.Transaction) (any, error) {
	token := c.Token
	if token.ID == "" || token.SecretHash == "" || token.Uses < 1 || !token.CreatedAt.Before(token.Expires) {
		return nil, fmt.Errorf("join token %q needs an id, a secret, at least one use and an end after its beginning", token.ID)
	}
	token.Used, token.Revoked, token.EndedAt = 0, false, time.Time{}
	known := Find(tx, token.ID)
	if known == nil {
		tx.Put(&token)
		return &token, nil
	}
	if known.SecretHash != token.SecretHash {
		return nil, fmt.Errorf("join token %s: %w: make one with another id", token.ID, spec.ErrInUse)
	}
	return known, nil
}

// Revoke revokes a join token permanently. Hosts that it admitted stay. A repeated call is a no-op. ErrNotFound.
// Answer: *Token.
type Revoke struct {
	ID string
	At time.Time
}

// Apply carries the command out.
func (c Revoke) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.ID)
	if known == nil {
		return nil, fmt.Errorf("join token %q: %w", c.ID, spec.ErrNotFound)
	}
	if known.Revoked {
		return known, nil
	}
	token := *known
	token.Revoked, token.EndedAt = true, c.At
	tx.Put(&token)
	return &token, nil
}
