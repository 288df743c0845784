package raftfsm

import (
	"fmt"
	"time"

	"pinion/raftfsm/quarantine"
	"pinion/raftfsm/spec"
)

// SetGPUQuarantine keeps a GPU of a host from new tasks, or releases it. A GPU that is in quarantine keeps its first quarantine, and a release of
// another one is a no-op. ErrNotFound for the host, and for a GPU that it does not have and that is not in quarantine; an error beyond
// quarantine.MaxGPUs. Answer: *Host.
type SetGPUQuarantine struct {
	HostID     string
	UUID       string
	At         time.Time
	Quarantine *quarantine.GPU // nil: release. Its UUID and At are those of the command
}

func (c SetGPUQuarantine) apply(tx *tx) (any, error) {
	known := tx.Host(c.HostID)
	if known == nil {
		return nil, fmt.Errorf("host %q: %w", c.HostID, spec.ErrNotFound)
	}
	quarantined := known.Quarantine.Has(c.UUID)
	if _, has := known.GPUs.Device(c.UUID); !has && !quarantined {
		return nil, fmt.Errorf("GPU %q of host %s: %w", c.UUID, known.Name, spec.ErrNotFound)
	}
	if quarantined == (c.Quarantine != nil) {
		return known, nil
	}
	host := *known
	host.HealthAt = c.At
	if c.Quarantine == nil {
		host.GPUs, host.Quarantine = known.Quarantine.Release(c.UUID, known.GPUs)
		return tx.updateHost(&host), nil
	}
	if len(known.Quarantine) >= quarantine.MaxGPUs {
		return nil, fmt.Errorf("host %s has %d GPUs in quarantine, which is the most: release those that have left it", host.Name, quarantine.MaxGPUs)
	}
	added := *c.Quarantine
	added.UUID, added.At = c.UUID, c.At
	host.GPUs, host.Quarantine = append(known.Quarantine[:len(known.Quarantine):len(known.Quarantine)], added).Mark(known.GPUs)
	return tx.updateHost(&host), nil
}
