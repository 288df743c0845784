// Package gpuuse adds up how tasks use their GPUs.
package gpuuse

import (
	"cmp"
	"time"
)

// Totals is the use of its GPUs by a container, in the time in which its host has measured them. A share counts as the part of the GPU that
// it is.
type Totals struct {
	MeasuredSeconds int64 `json:"measuredSeconds"`         // GPU-seconds that were measured
	BusySeconds     int64 `json:"busySeconds"`             // of these, those in which something computed
	Joules          int64 `json:"joules,omitempty"`        // of energy; 0: not known
	PeakMemoryMiB   int64 `json:"peakMemoryMiB,omitempty"` // of one GPU at most; 0: not known, as of a GPU that is shared

	// IdleSince is from when on the GPUs of the task have done nothing, for which it is going to be stopped; zero: it is not.
	IdleSince time.Time `json:"idleSince,omitzero" level:"1"`
}

const (
	// maxWatts is more than any GPU needs.
	maxWatts = 10_000
	// maxSeconds is more than any task gets: sums over millions of tasks stay whole numbers.
	maxSeconds = 1 << 40
	// maxMemoryMiB is more than any GPU has: as bytes it is a number still.
	maxMemoryMiB = 1 << 40
)

// Bounded is the totals as they can be of so many GPU-seconds: a host in the wrong hands reports anything.
func (u Totals) Bounded(gpuSeconds int64) Totals {
	u.MeasuredSeconds = min(max(u.MeasuredSeconds, 0), max(gpuSeconds, 0), maxSeconds)
	u.BusySeconds = min(max(u.BusySeconds, 0), u.MeasuredSeconds)
	u.Joules = min(max(u.Joules, 0), u.MeasuredSeconds*maxWatts)
	u.PeakMemoryMiB = min(max(u.PeakMemoryMiB, 0), maxMemoryMiB)
	return u
}

// Plus is the totals of two containers.
func (u Totals) Plus(more Totals) Totals {
	return Totals{
		MeasuredSeconds: u.MeasuredSeconds + more.MeasuredSeconds, BusySeconds: u.BusySeconds + more.BusySeconds,
		Joules: u.Joules + more.Joules, PeakMemoryMiB: max(u.PeakMemoryMiB, more.PeakMemoryMiB), IdleSince: cmp.Or(u.IdleSince, more.IdleSince),
	}
}

// Later returns the totals of a container for which r is reported: sums do not shrink, and a host that has forgotten them reports less.
func (u *Totals) Later(r *Totals) *Totals {
	if u == nil || r == nil {
		if r == nil {
			return u
		}
		return r
	}
	return &Totals{
		MeasuredSeconds: max(u.MeasuredSeconds, r.MeasuredSeconds), BusySeconds: max(u.BusySeconds, r.BusySeconds),
		Joules: max(u.Joules, r.Joules), PeakMemoryMiB: max(u.PeakMemoryMiB, r.PeakMemoryMiB), IdleSince: r.IdleSince,
	}
}
