package gpuhealth

import (
	"time"

	"pinion/gpu"
)

const (
	// settle is how long a driver may take from an event to its own record of what it asks for.
	settle = 30 * time.Second
	// checkMin and checkMax bound the time between two checks that do not pass.
	checkMin = 10 * time.Second
	checkMax = 10 * time.Minute
)

// Due are the GPUs of this host to be checked now, and when to ask again; zero: when Changed is closed. A broken GPU is checked after a reset or
// a boot alone.
func (r *Record) Due(now time.Time) (uuids []string, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uuid, c := range r.sick {
		if !r.present[uuid] {
			continue
		}
		at := c.due(r.boot)
		switch {
		case at.IsZero():
		case !at.After(now):
			uuids = append(uuids, uuid)
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return uuids, next
}

// due is when the GPU is to be checked; zero: not by itself.
func (c *condition) due(boot string) time.Time {
	switch {
	case c.Health == gpu.Replace && !c.repaired(boot):
		return time.Time{}
	case !c.lastCheck.IsZero():
		return c.lastCheck.Add(min(checkMin<<min(c.failed, 10), checkMax))
	case c.told && !c.repaired(boot):
		return c.Since.Add(settle)
	}
	return c.Since
}

// repaired reports whether the GPU was reset, or the machine booted, since.
func (c *condition) repaired(boot string) bool { return c.Reset || c.Boot != boot }

// Repaired reports whether a sick GPU was reset, or the machine booted, since it is sick.
func (r *Record) Repaired(uuid string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.sick[uuid]
	return c != nil && c.repaired(r.boot)
}

// MarkReset records that the GPU was reset. It is checked next.
func (r *Record) MarkReset(uuid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.sick[uuid]; c != nil {
		c.Reset, c.failed, c.lastCheck, c.result = true, 0, time.Time{}, ""
		r.keep()
		r.wake()
	}
}

// Checked records what a check has found: nil, and the GPU is well.
func (r *Record) Checked(uuid string, found error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.sick[uuid]
	if c == nil {
		return
	}
	if found == nil {
		r.log.Info("a GPU has passed its check and may get work again", "gpu", uuid, "was", c.Health, "since", c.Since)
		delete(r.sick, uuid)
		delete(r.failures, uuid)
		r.keep()
		r.wake()
		return
	}
	r.log.Warn("a GPU has not passed its check", "gpu", uuid, "health", c.Health, "found", found)
	c.failed, c.lastCheck, c.result = c.failed+1, now, found.Error()
	r.wake()
}
