package api

import (
	"sync/atomic"

	"pinion/api/ecs"
	"pinion/api/sigv4"
	"pinion/api/wire"
)

const (
	// maxInFlight is how many requests are worked on at once. One takes some tens of microseconds, or one turn of the disk:
	// so many are more than a healthy host ever has.
	maxInFlight = 1024
	// maxLargeBodies is how many bodies larger than smallBody are held at once: 64 MiB at most.
	maxLargeBodies = 64
	smallBody      = 64 << 10
	// maxEventStreams is how many follow events at once; each has a buffer of some 64 KiB.
	maxEventStreams = 1000
	// maxLogReads is how many requests read logs for CloudWatch's clients at once; each holds some MiB of lines.
	maxLogReads = 64
)

// Limits is what all handlers of one process share, so that its limits hold for all of them together: how many requests are
// under way, who follows events, and which signatures have changed something already. What is worth remembering for all
// is here too.
type Limits struct {
	inFlight     semaphore
	largeBodies  semaphore
	eventStreams semaphore
	logReads     semaphore
	replay       replayCache
	signers      sigv4.SignerCache
	tasks        ecs.TaskCache
	events       encodedEventCache
	readIndex    readIndexCache
}

// NewLimits is a guard with the usual limits.
func NewLimits() *Limits {
	return &Limits{inFlight: semaphore{size: maxInFlight}, largeBodies: semaphore{size: maxLargeBodies}, eventStreams: semaphore{size: maxEventStreams}, logReads: semaphore{size: maxLogReads}}
}

// semaphore are a number of places; who finds none does not wait.
type semaphore struct {
	size int64
	held atomic.Int64
}

// tryAcquire takes a place. leave, which may be called more than once, gives it back.
func (s *semaphore) tryAcquire() (leave func(), ok bool) {
	if s.held.Add(1) > s.size {
		s.held.Add(-1)
		return nil, false
	}
	var left atomic.Bool
	return func() {
		if left.CompareAndSwap(false, true) {
			s.held.Add(-1)
		}
	}, true
}

// errThrottled is what SDKs try again, with a pause that grows.
func errThrottled(what string) error {
	return wire.Errorf(throttled, "Nothing was done: this host has too many %s at once. Try again.", what)
}
