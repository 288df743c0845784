// Package admission decides who belongs to the pool: join tokens, the certificates that the pool's CA signs for hosts, and
// the access keys of clients with the keyring that their secrets are sealed with.
package admission

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"pinion/raftfsm"
)

// Proposer records commands on the server that leads.
type Proposer interface {
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
}

// Server is what Authority and AccessKeys need of the server that they are part of.
type Server interface {
	Proposer
	State() *raftfsm.State
	Now() time.Time
	// View is the state after every change that was acknowledged; it fails where this server does not lead.
	View(ctx context.Context) (*raftfsm.View, error)
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
