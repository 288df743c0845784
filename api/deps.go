package api

import (
	"context"
	"io"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Leadership tells who answers for the pool now.
type Leadership interface {
	// Leader is the address (host:port) of the leader, and whether that is this host. During an election it waits for
	// the outcome, at most 5 s or as long as ctx lasts, then the error is raftfsm.ErrUnavailable.
	Leader(ctx context.Context) (address string, self bool, err error)
}

// LocalState is the state as this host has it.
type LocalState interface {
	// StaleView may lag behind what was acknowledged, but needs no leader. raftfsm.ErrUnavailable when this host holds
	// no state.
	StaleView() (*raftfsm.View, error)
}

// History is what has changed lately in the state as this host has it.
type History interface {
	// Changes are those after a mark, the oldest first, at most so many; when there are none, more is closed at the next
	// one. A *raftfsm.Forgotten when there is a gap, raftfsm.ErrUnavailable when this host holds no state.
	Changes(after raftfsm.Position, most int) (changes []*raftfsm.Change, more <-chan struct{}, err error)
}

// Admin is what the operators' endpoints (/v1/admin/...) need. A part that is nil is answered with an error that says
// so. All of it is called on the leader only.
type Admin struct {
	Tokens    TokenStore
	Keys      KeyStore // nil: keys have their secrets in clear, and there are no others
	Hosts     HostAdmin
	Snapshots Snapshotter
}

// TokenStore makes and ends the tokens that let hosts join. Which there are is in the state.
type TokenStore interface {
	// CreateToken makes a token for uses hosts within ttl; 0 of either is the default. role is "host".
	CreateToken(ctx context.Context, ttl time.Duration, uses int, role string) (token string, err error)
	// RevokeToken ends a token. raftfsm.ErrNotFound.
	RevokeToken(ctx context.Context, id string) error
}

// KeyStore makes and ends access keys, and reads their secrets. Which keys there are is in the state, without them.
type KeyStore interface {
	// CreateKey makes a key for one cluster or, when that is empty, for all. Only this answer has the secret in clear.
	CreateKey(ctx context.Context, role spec.Role, cluster string) (spec.AccessKey, error)
	// RemoveKey ends a key at once. raftfsm.ErrNotFound.
	RemoveKey(ctx context.Context, id string) error
	// KeySecret is the secret of a key in the state, also on a host that does not lead. raftfsm.ErrUnavailable while this
	// host cannot read it.
	KeySecret(key *spec.AccessKey) (string, error)
}

// HostAdmin changes which hosts belong to the pool, and what they are in it.
type HostAdmin interface {
	// RemoveHost ends a host's membership for ever. raftfsm.ErrInUse while it has tasks, unless force; raftfsm.ErrNotFound.
	RemoveHost(ctx context.Context, id string, force bool) error
	// Promote makes a host a server, Demote an agent. They return when that is recorded.
	Promote(ctx context.Context, id string) error
	Demote(ctx context.Context, id string) error
	// Roles tells for each host id what it is: "leader", "server", "joining" or "agent".
	Roles(ctx context.Context) (map[string]string, error)
}

// Snapshotter writes the state down.
type Snapshotter interface {
	// SaveSnapshot writes a snapshot that can tell by itself whether it is whole.
	SaveSnapshot(ctx context.Context, w io.Writer) error
}
