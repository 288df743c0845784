package consensus

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
	"pinion/server/store"
)

// Why Open refuses a directory.
var (
	ErrInUse     = errors.New("another pinion uses this directory")
	ErrNewer     = errors.New("the directory was written by a newer pinion")
	ErrOtherPool = errors.New("the directory belongs to another pool")
	ErrOtherHost = errors.New("the directory belongs to another host")
)

// MapRaftError tells what an error of Raft means for the change that failed with it.
func (n *Node) MapRaftError(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return n.PreferDiskFull(fmt.Errorf("%w (%w)", spec.ErrNotLeader, err))
	case errors.Is(err, raft.ErrEnqueueTimeout):
		return n.PreferDiskFull(fmt.Errorf("%w (%w)", spec.ErrBusy, err))
	case store.IsDiskFull(err): // the file system can still count some space as free
		return fmt.Errorf("%w (%w)", spec.ErrReadOnly, err)
	}
	return fmt.Errorf("%w (%w)", spec.ErrOutcomeUnknown, err)
}
