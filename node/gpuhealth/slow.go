package gpuhealth

import (
	"errors"
	"fmt"
	"time"

	"pinion/gpu"
)

// slowAfter is the time after which a GPU that slows itself down is suspect, and after which one that does not is not any more.
const slowAfter = time.Minute

// slowSamples is the number of samples in that time.
const slowSamples = int(slowAfter / gpu.UsageInterval)

// slowGPU is a GPU that has slowed itself down lately.
type slowGPU struct {
	reason  gpu.Slowdown
	since   time.Time
	samples int  // in which it was slow, less those in which it was not; slowSamples at most
	suspect bool // it was slow for long enough
}

// AddUsage records which GPUs slow themselves down, in a sample of all of them. One that has for a minute is suspect, and is not checked before it has
// not for as long: it would pass while it does nothing.
func (r *Record) AddUsage(usages map[string]gpu.Usage, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for uuid, usage := range usages {
		if usage.Slowdown != "" {
			r.addSlow(uuid, usage.Slowdown, now)
		}
	}
	for uuid, s := range r.slow {
		if usages[uuid].Slowdown != "" {
			continue
		}
		if s.samples--; s.samples > 0 {
			continue
		}
		delete(r.slow, uuid)
		if c := r.sick[uuid]; c != nil && s.suspect {
			c.failed, c.lastCheck = 0, time.Time{} // check it now
			r.wake()
		}
	}
}

// addSlow records a sample in which a GPU was slow. Called with the lock held.
func (r *Record) addSlow(uuid string, reason gpu.Slowdown, now time.Time) {
	s := r.slow[uuid]
	if s == nil {
		s = &slowGPU{since: now}
		r.slow[uuid] = s
	}
	s.reason, s.samples = reason, min(s.samples+1, slowSamples)
	if s.samples < slowSamples || s.suspect {
		return
	}
	s.suspect = true
	r.log.Warn("a GPU slows itself down", "gpu", uuid, "reason", reason, "since", s.since)
	r.add(uuid, condition{Health: gpu.Suspect, Problem: s.text(), Since: now})
}

func (s *slowGPU) text() string {
	return fmt.Sprintf("it has slowed itself down since %s, %s", s.since.UTC().Format(time.RFC3339), s.reason.Text())
}

// Slow is why the GPU does not get work although it may pass its check: it slows itself down. Nil when it does not.
func (r *Record) Slow(uuid string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.slow[uuid]; s != nil && s.suspect {
		return errors.New(s.text())
	}
	return nil
}
