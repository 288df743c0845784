package server

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
	"pinion/server/store"
)

// What a call can fail with besides the state's own refusals; see spec.
var (
	ErrNotLeader      = spec.ErrNotLeader
	ErrOutcomeUnknown = spec.ErrOutcomeUnknown
	ErrReadOnly       = spec.ErrReadOnly
	ErrOutdated       = spec.ErrOutdated

	errBehind = spec.ErrBehind
	errBusy   = spec.ErrBusy
	errClosed = spec.ErrClosed
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
