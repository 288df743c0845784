package raftfsm

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// SetHostStatus drains a host (HostDraining: nothing new is placed there, its tasks go on) or takes it back
// (HostActive). Setting what it is already changes nothing. ErrNotFound. Answer: *Host.
type SetHostStatus struct {
	ID     string
	Status spec.HostStatus
}

func (c SetHostStatus) apply(tx *tx) (any, error) {
	if c.Status != spec.HostActive && c.Status != spec.HostDraining {
		return nil, fmt.Errorf("host %s: the status can be set to %s or %s, not %q", c.ID, spec.HostActive, spec.HostDraining, c.Status)
	}
	known := tx.Host(c.ID)
	if known == nil {
		return nil, fmt.Errorf("host %q: %w", c.ID, spec.ErrNotFound)
	}
	if known.Status == c.Status {
		return known, nil
	}
	host := *known
	host.Status = c.Status
	return tx.updateHost(&host), nil
}

// SetServerRole says whether the pool wants the host to be a server. Raft's own configuration follows later: it is what
// is, this is what ought to be. Setting what it is already changes nothing. ErrNotFound. Answer: *Host.
type SetServerRole struct {
	ID     string
	Server bool
}

func (c SetServerRole) apply(tx *tx) (any, error) {
	known := tx.Host(c.ID)
	if known == nil {
		return nil, fmt.Errorf("host %q: %w", c.ID, spec.ErrNotFound)
	}
	if known.Server == c.Server {
		return known, nil
	}
	host := *known
	host.Server = c.Server
	return tx.updateHost(&host), nil
}
