package consensus

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
	"pinion/server/store"
)

// Errors of New and Open for a directory that is refused.
var (
	ErrInUse     = errors.New("another pinion uses this directory")
	ErrNewer     = errors.New("the directory was written by a newer pinion")
	ErrOtherPool = errors.New("the directory belongs to another pool")
	ErrOtherHost = errors.New("the directory belongs to another host")
	ErrOlderCopy = errors.New("the directory is not as this server left it but an older copy, or empty")
)

// MapRaftError maps an error of Raft to the error for the change that failed with it.
func (n *Node) MapRaftError(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return n.PreferDiskFull(fmt.Errorf("%w (%w)", spec.ErrNotLeader, err))
	case errors.Is(err, raft.ErrEnqueueTimeout):
		return n.PreferDiskFull(fmt.Errorf("%w (%w)", spec.ErrBusy, err))
	case store.IsDiskFull(err): // the file system may still report some free space
		return fmt.Errorf("%w (%w)", spec.ErrReadOnly, err)
	}
	return fmt.Errorf("%w (%w)", spec.ErrOutcomeUnknown, err)
}
