package httpx

import (
	"sync/atomic"
	"time"

	"pinion/api/wire"
)

// Limits on what one connection may cost. Requests are small; responses may stream for hours.
const (
	HeaderTimeout = 10 * time.Second
	BodyTimeout   = 30 * time.Second
	WriteTimeout  = 60 * time.Second // for each response, and for each chunk of a streamed one
	IdleTimeout   = 2 * time.Minute
	MaxHeader     = 64 << 10
	MaxBody       = 1 << 20
	// SmallBody is the size up to which a body needs no slot of its own.
	SmallBody = 64 << 10
)

const (
	// maxInFlight is how many requests are worked on at once. One takes some tens of microseconds, or one disk write: a
	// healthy host never has as many.
	maxInFlight = 1024
	// maxLargeBodies is how many bodies larger than SmallBody are held at once: 64 MiB at most.
	maxLargeBodies = 64
)

// Limits bound the requests of all listeners of one process together.
type Limits struct {
	InFlight    Semaphore // requests that are worked on
	LargeBodies Semaphore // bodies larger than SmallBody
}

// NewLimits returns the usual limits.
func NewLimits() *Limits {
	return &Limits{InFlight: Semaphore{Size: maxInFlight}, LargeBodies: Semaphore{Size: maxLargeBodies}}
}

// Semaphore is a number of slots. A caller that finds none free is refused; it never waits.
type Semaphore struct {
	Size int64
	held atomic.Int64
}

// TryAcquire takes a slot. release, which may be called more than once, gives it back.
func (s *Semaphore) TryAcquire() (release func(), ok bool) {
	if s.held.Add(1) > s.Size {
		s.held.Add(-1)
		return nil, false
	}
	var released atomic.Bool
	return func() {
		if released.CompareAndSwap(false, true) {
			s.held.Add(-1)
		}
	}, true
}

// Held is how many slots are taken now.
func (s *Semaphore) Held() int64 { return s.held.Load() }

// ErrThrottled refuses a request beyond a limit. SDKs try it again, with a pause that grows.
func ErrThrottled(what string) error {
	return wire.Errorf(Throttled, "Nothing was done: this host has too many %s at once. Try again.", what)
}
