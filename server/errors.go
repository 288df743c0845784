package server

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
	"pinion/server/store"
)

// unavailableError is a reason why a request that is fine cannot be served now; it wraps raftfsm.ErrUnavailable.
type unavailableError struct{ reason string }

func (u *unavailableError) Error() string { return u.reason }

// Unwrap makes errors.Is(err, raftfsm.ErrUnavailable) true.
func (u *unavailableError) Unwrap() error { return spec.ErrUnavailable }

// What a call can fail with besides the state's own refusals. Each wraps raftfsm.ErrUnavailable.
var (
	// ErrNotLeader: nothing was recorded.
	ErrNotLeader error = &unavailableError{"nothing was recorded, this server does not lead the pool now; try again"}
	// ErrOutcomeUnknown: the change may have been recorded or not. Look before trying again, or use a client token.
	ErrOutcomeUnknown error = &unavailableError{"outcome unknown, the change may or may not have been recorded; look before you repeat it, or repeat it with the same client token"}
	// ErrReadOnly: nothing was recorded because the disk is full; reads go on.
	ErrReadOnly error = &unavailableError{"nothing was recorded, pinion is read-only because its disk is full"}

	// ErrOutdated: this server, or the host that asked it, is of before a recovery of the pool. Nothing was done.
	ErrOutdated error = &unavailableError{"nothing was done: the pool was recovered since, and one of the two hosts does not know it yet"}

	errBehind error = &unavailableError{"this server lags behind the pool; try again"}
	errBusy   error = &unavailableError{"nothing was recorded, the pool is busy; try again"}
	errClosed error = &unavailableError{"nothing was recorded, this server is shutting down"}
)

// What Open refuses a directory for.
var (
	ErrInUse     = errors.New("another pinion uses this directory")
	ErrNewer     = errors.New("the directory was written by a newer pinion")
	ErrOtherPool = errors.New("the directory belongs to another pool")
	ErrOtherHost = errors.New("the directory belongs to another host")
)

// mapRaftError says in our words what an error of Raft means for the change it answers.
func (s *Server) mapRaftError(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return s.preferDiskFull(fmt.Errorf("%w (%w)", ErrNotLeader, err))
	case errors.Is(err, raft.ErrEnqueueTimeout):
		return s.preferDiskFull(fmt.Errorf("%w (%w)", errBusy, err))
	case store.IsDiskFull(err): // the file system can still count some space as free
		return fmt.Errorf("%w (%w)", ErrReadOnly, err)
	}
	return fmt.Errorf("%w (%w)", ErrOutcomeUnknown, err)
}
