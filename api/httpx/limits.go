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
	// maxOpen is how many requests are open at once, from the first byte of the body to the last of the response: streams stay open for
	// hours.
	maxOpen           = 16 << 10
	maxOpenPerAddress = 2 << 10
	// maxBodies is how many bodies are read at once, of large and small ones: 512 MiB at most of the small ones. HTTP/2 brings many on
	// one connection.
	maxBodies           = 8192
	maxBodiesPerAddress = 1024
	// maxLargeBodies is how many bodies larger than SmallBody are held at once: 64 MiB at most.
	maxLargeBodies = 64
	// maxLargeBodiesPerAddress is how many of them may come from one address. Who sends them is not known before they are here.
	maxLargeBodiesPerAddress = 16
)

// Limits bound the requests of all listeners of one process together.
type Limits struct {
	Open        AddressSemaphore // requests whose response is not over, streams too
	InFlight    Semaphore        // requests that are worked on
	Bodies      AddressSemaphore // bodies that have not arrived whole
	LargeBodies AddressSemaphore // bodies larger than SmallBody
}

// NewLimits returns the usual limits.
func NewLimits() *Limits {
	return &Limits{
		Open: AddressSemaphore{Size: maxOpen, PerAddress: maxOpenPerAddress}, InFlight: Semaphore{Size: maxInFlight},
		Bodies:      AddressSemaphore{Size: maxBodies, PerAddress: maxBodiesPerAddress},
		LargeBodies: AddressSemaphore{Size: maxLargeBodies, PerAddress: maxLargeBodiesPerAddress},
	}
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
