package api

import (
	"sync/atomic"

	"pinion/api/ecs"
	"pinion/api/sigv4"
	"pinion/api/wire"
)

const (
	// maxUnderWay is how many requests are worked on at once. One takes some tens of microseconds, or one turn of the disk:
	// so many are more than a healthy host ever has.
	maxUnderWay = 1024
	// maxLarge is how many bodies larger than smallBody are held at once: 64 MiB at most.
	maxLarge  = 64
	smallBody = 64 << 10
	// maxFollowers is how many follow events at once; each has a buffer of some 64 KiB.
	maxFollowers = 1000
	// maxSearches is how many requests read logs for CloudWatch's clients at once; each holds some MiB of lines.
	maxSearches = 64
)

// Guard is what all handlers of one process share, so that its limits hold for all of them together: how many requests are
// under way, who follows events, and which signatures have changed something already. What is worth remembering for all
// is here too.
type Guard struct {
	underWay  slots
	large     slots
	followers slots
	searches  slots
	used      signatures
	signers   sigv4.Signers
	shown     ecs.Shown
	frames    frames
	lastWord  lastWord
}

// NewGuard is a guard with the usual limits.
func NewGuard() *Guard {
	return &Guard{underWay: slots{most: maxUnderWay}, large: slots{most: maxLarge}, followers: slots{most: maxFollowers}, searches: slots{most: maxSearches}}
}

// slots are a number of places; who finds none does not wait.
type slots struct {
	most  int64
	taken atomic.Int64
}

// take takes a place. leave, which may be called more than once, gives it back.
func (s *slots) take() (leave func(), ok bool) {
	if s.taken.Add(1) > s.most {
		s.taken.Add(-1)
		return nil, false
	}
	var left atomic.Bool
	return func() {
		if left.CompareAndSwap(false, true) {
			s.taken.Add(-1)
		}
	}, true
}

// errBusy is what SDKs try again, with a pause that grows.
func errBusy(what string) error {
	return wire.Errorf(throttled, "Nothing was done: this host has too many %s at once. Try again.", what)
}
