package spec

// unavailable is the reason why a valid request cannot be served now. It wraps ErrUnavailable.
type unavailable struct{ reason string }

func (u *unavailable) Error() string { return u.reason }

// Unwrap makes errors.Is(err, ErrUnavailable) true.
func (u *unavailable) Unwrap() error { return ErrUnavailable }

// Unavailable is an error with this text that wraps ErrUnavailable: the request is valid and cannot be served now.
func Unavailable(reason string) error { return &unavailable{reason} }

// Why a server cannot serve a request now. Each wraps ErrUnavailable.
var (
	// ErrNotLeader: nothing was recorded.
	ErrNotLeader = Unavailable("nothing was recorded, this server does not lead the pool now; try again")
	// ErrOutcomeUnknown: the change may have been recorded or not. Look before trying again, or use a client token.
	ErrOutcomeUnknown = Unavailable("outcome unknown, the change may or may not have been recorded; look before you repeat it, or repeat it with the same client token")
	// ErrReadOnly: nothing was recorded because the disk is full; reads go on.
	ErrReadOnly = Unavailable("nothing was recorded, pinion is read-only because its disk is full")
	// ErrStateFull: nothing was recorded because the state takes its share of the leader's memory; what stops or deletes is recorded.
	ErrStateFull = Unavailable("nothing was recorded, the state of the pool is as large as the memory of its leader allows")
	// ErrOutdated: one of the two hosts does not know yet that the pool was recovered. Nothing was done.
	ErrOutdated = Unavailable("nothing was done: the pool was recovered since, and one of the two hosts does not know it yet")
	// ErrBehind: the server's state does not have the changes yet that the request needs.
	ErrBehind = Unavailable("this server lags behind the pool; try again")
	// ErrBusy: nothing was recorded, a queue is full or the request waited too long in it.
	ErrBusy = Unavailable("nothing was recorded, the pool is busy; try again")
	// ErrClosed: nothing was recorded, the server ends.
	ErrClosed = Unavailable("nothing was recorded, this server is shutting down")
)
