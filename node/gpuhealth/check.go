package gpuhealth

import (
	"errors"
	"time"

	"pinion/gpu"
	"pinion/packaging/backoff"
)

const (
	// recordDelay bounds the time from an event to the driver's own record of the recovery action.
	recordDelay = 30 * time.Second
)

// checkPauses are the times between two checks that do not pass.
var checkPauses = backoff.Backoff{Min: 10 * time.Second, Max: 10 * time.Minute}

// Due are the GPUs of this host to be checked now, and when to ask again; zero: when Changed is closed. A broken GPU is checked after a reset or
// a boot alone.
func (r *Record) Due(now time.Time) (uuids []string, next time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uuid, c := range r.sick {
		if !r.present[uuid] {
			continue
		}
		if c.Since.After(now) { // the clock was set back: it would wait for as long
			c.Since = now
		}
		at := c.due(r.boot)
		if s := r.slow[uuid]; s != nil && s.suspect && !c.checkRequested {
			continue
		}
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

// due is the time of the GPU's next check; zero: none by itself.
func (c *condition) due(boot string) time.Time {
	switch {
	case c.checkRequested:
		return c.Since
	case c.Health == gpu.Replace && !c.repaired(boot):
		return time.Time{}
	case !c.lastCheck.IsZero():
		return c.lastCheck.Add(checkPauses.After(c.failed))
	case c.fromEvent && !c.repaired(boot):
		return c.Since.Add(recordDelay)
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

// Outcome is the outcome of the last check of the GPU that an operator asked for. False when this process was asked for none.
func (r *Record) Outcome(uuid string) (gpu.CheckOutcome, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.requested[uuid]
	return o, ok
}

// Request has the GPU checked at once, and reset before, as an operator asks. Until it has passed the check it gets no tasks; those that have it
// run on, and it waits for them.
func (r *Record) Request(uuid string, reset bool, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.known.GPUs[uuid]; known != nil && !known.Missing.IsZero() {
		r.requested[uuid] = gpu.CheckOutcome{Done: true, Problem: known.device(0, now).Problem}
		return
	}
	c := condition{Health: gpu.Suspect, Problem: "a check was asked for at " + now.UTC().Format(time.RFC3339), Since: now}
	if reset {
		c = condition{Health: gpu.NeedsReset, Problem: "a reset was asked for at " + now.UTC().Format(time.RFC3339), Since: now}
	}
	if r.sick[uuid] == nil {
		r.add(uuid, c)
	}
	known := r.sick[uuid]
	known.checkRequested, known.resetRequested, known.result = true, known.resetRequested || reset, ""
	r.requested[uuid] = gpu.CheckOutcome{}
	r.wake()
}

// StartCheck begins a check of a GPU, which ends with Checked, and reports whether the GPU is to be reset before. Faults and requests that come
// from here on are for another check.
func (r *Record) StartCheck(uuid string) (reset bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.sick[uuid]
	if c == nil {
		return false
	}
	reset = c.resetRequested
	c.checkState = checkState{checking: true, answers: c.checkRequested}
	return reset
}

// MarkReset records that the GPU was reset.
func (r *Record) MarkReset(uuid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.sick[uuid]; c != nil {
		c.Reset = true
		r.save()
	}
}

// errOutdated is the finding of a check that says nothing of what has happened since it began.
var errOutdated = errors.New("there was another fault during the check, so that the GPU is checked again")

// Checked records the finding of a check: nil, and the GPU is well, unless there was a fault or a request since the check began. Then it needs another one.
func (r *Record) Checked(uuid string, found error, now time.Time) (again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.sick[uuid]
	if c == nil {
		return false
	}
	check := c.checkState
	c.checking, c.answers, c.outdated = false, false, false
	if found == nil && check.outdated {
		found = errOutdated
	}
	if check.answers && !check.checkRequested {
		r.requested[uuid] = gpu.CheckOutcome{Done: true}
		if found != nil {
			r.requested[uuid] = gpu.CheckOutcome{Done: true, Problem: found.Error()}
		}
	}
	if found == nil && c.inInventory { // the source has said otherwise when it was asked last: once it says that the GPU is well, it is checked again
		c.lastCheck = now
		return check.checkRequested
	}
	if found == nil && !check.checkRequested {
		r.log.Info("a GPU has passed its check and may get work again", "gpu", uuid, "previous", c.Health, "since", c.Since)
		delete(r.sick, uuid)
		delete(r.failures, uuid)
		r.save()
		r.wake()
		return false
	}
	if found != nil {
		r.log.Warn("a GPU has not passed its check", "gpu", uuid, "health", c.Health, "error", found)
		c.failed, c.result = c.failed+1, found.Error()
	}
	if !check.outdated { // else the next check waits for the driver's record of the fault
		c.lastCheck = now
	}
	r.wake()
	return check.outdated || check.checkRequested
}
