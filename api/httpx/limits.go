package httpx

import (
	"cmp"
	"net/http"
	"time"

	"pinion/api/wire"
	"pinion/packaging/clientnet"
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
	// maxAwaiting is how many requests wait at once for another host to answer, which takes seconds when it is silent.
	maxAwaiting = 1024
	// maxAwaitingPerHost is how many of them wait for one host.
	maxAwaitingPerHost = 64
	// maxOpen is how many requests are open at once, from the first byte of the body to the last of the response: streams stay open for
	// hours.
	maxOpen           = 16 << 10
	maxOpenPerAddress = 2 << 10
	// openForRoot is how many of them clients at no address take: root's socket takes an administrator who ends what fills the others.
	openForRoot = 64
	// maxStreams is how many streams are open at once: the other half is for what ends soon.
	maxStreams           = 8 << 10
	maxStreamsPerAddress = 1 << 10
	// maxBodies is how many bodies are read at once, of large and small ones: 512 MiB at most of the small ones. HTTP/2 brings many on
	// one connection.
	maxBodies           = 8192
	maxBodiesPerAddress = 1024
	// maxLargeBodies is how many bodies larger than SmallBody are held at once: 64 MiB at most.
	maxLargeBodies = 64
	// maxLargeBodiesPerAddress is how many of them may come from one address. Who sends them is not known before they are here.
	maxLargeBodiesPerAddress = 16
	// maxLargeInputs is how many requests with inputs larger than wire.SmallInput are worked on at once. They are parsed one after another, see wire.Bounded.
	maxLargeInputs           = 512
	maxLargeInputsPerAddress = 128
	// maxAnswers is how many bytes of answers larger than SmallBody wait at once for clients that read them slowly, or not at all. No
	// answer counts for more than the part of its address.
	maxAnswers           = 512 << 20
	maxAnswersPerAddress = 128 << 20
	// maxLists is how many lists of any length are put together at once.
	maxLists = 16
)

// HTTP2 bounds what a connection may send before the bodies of its requests are read. Go takes a megabyte, of clients whom nobody knows yet, and 250
// streams; four times as many requests wait there, with their headers, of a client that resets them as soon as it has sent them.
var HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 64, MaxReadFrameSize: 16 << 10, MaxReceiveBufferPerConnection: 128 << 10, MaxReceiveBufferPerStream: SmallBody}

// Limits bound the requests of all listeners of one process together.
type Limits struct {
	Open        AddressSemaphore // requests whose response is not over, streams too
	Streams     HostSemaphore    // of Open, those that go on for hours, of each address that they come from; see HoldStream
	InFlight    AddressSemaphore // requests that are worked on
	Awaiting    HostSemaphore    // requests that wait for another host, see Await
	Bodies      AddressSemaphore // bodies that have not arrived whole
	LargeBodies AddressSemaphore // bodies larger than SmallBody
	LargeInputs AddressSemaphore // requests that are worked on whose input takes long to parse
	Answers     AddressSemaphore // bytes of answers larger than SmallBody that are on their way to the client
	Lists       OwnerSemaphore   // lists without a bound of their own that are put together, see HoldList
}

// NewLimits returns the usual limits.
func NewLimits() *Limits {
	return &Limits{
		Open:        AddressSemaphore{Size: maxOpen, PerAddress: maxOpenPerAddress, ForRoot: openForRoot, Shared: true},
		Streams:     HostSemaphore{Size: maxStreams, PerHost: maxStreamsPerAddress},
		InFlight:    AddressSemaphore{Size: maxInFlight, Shared: true},
		Awaiting:    HostSemaphore{Size: maxAwaiting, PerHost: maxAwaitingPerHost},
		Bodies:      AddressSemaphore{Size: maxBodies, PerAddress: maxBodiesPerAddress},
		LargeBodies: AddressSemaphore{Size: maxLargeBodies, PerAddress: maxLargeBodiesPerAddress},
		LargeInputs: AddressSemaphore{Size: maxLargeInputs, PerAddress: maxLargeInputsPerAddress, Shared: true},
		Answers:     AddressSemaphore{Size: maxAnswers, PerAddress: maxAnswersPerAddress},
		Lists:       OwnerSemaphore{Size: maxLists},
	}
}

// HoldList takes a slot for a request of an owner whose answer may be as long as the state is large, until the answer begins.
func (l *Limits) HoldList(x *Exchange, owner string) error {
	release, free := l.Lists.TryAcquire(owner)
	if !free {
		return ErrThrottled("requests for long lists")
	}
	x.onHeader = append(x.onHeader, release)
	return nil
}

// HoldStream takes a slot for a stream of an owner until it is over, and drops the body of its request. An agent passes on the streams of many at its own address, so an owner has a part of
// those of an address too.
func (l *Limits) HoldStream(x *Exchange, owner string) error {
	release, free := l.Streams.TryAcquire(owner, clientnet.Prefix(x.LimitAddress()).String())
	if !free {
		return ErrThrottled("streams")
	}
	x.onEnd, x.Body = append(x.onEnd, release), nil
	return nil
}

// Await has a request of an owner wait for another host until the answer begins. It is then none of those in flight any more, which others need.
func (l *Limits) Await(x *Exchange, owner, hostID string) error {
	release, free := l.Awaiting.TryAcquire(owner, hostID)
	if !free {
		return ErrThrottled("requests that wait for other hosts")
	}
	x.onHeader = append(x.onHeader, release)
	if x.inFlight != nil {
		x.inFlight()
	}
	return nil
}

// holdAnswer takes the bytes of an answer until the client has it. What was changed is said in any case.
func (x *Exchange) holdAnswer(size int) error {
	if size <= SmallBody || x.answers == nil || x.Writes {
		return nil
	}
	release, free := x.answers.TryAcquireN(x.LimitAddress(), min(int64(size), cmp.Or(x.answers.PerAddress, x.answers.Size)))
	if !free {
		return ErrThrottled("large answers that are not read")
	}
	x.onEnd = append(x.onEnd, release)
	return nil
}

// ErrThrottled refuses a request beyond a limit. SDKs try it again, with a pause that grows.
func ErrThrottled(what string) error {
	return wire.Errorf(Throttled, "Nothing was done: this host has too many %s at once. Try again.", what)
}
