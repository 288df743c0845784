package membership

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// PathRole is the path at the leader for the role of a host.
const PathRole = "/peer/leader/role"

// RoleReply is the leader's word on a host: whether it is wanted as a server, or still in Raft's configuration.
type RoleReply struct {
	Server      bool
	Incarnation int `json:",omitempty"` // of the pool
}

// ConfirmRole is the leader's answer to a host that asks for its role. It stands behind a barrier: a host wipes its log by
// it.
func (s *Servers) ConfirmRole(ctx context.Context, hostID string) (RoleReply, error) {
	configured := s.Configured()
	if err := s.barrier.wait(ctx); err != nil { // the configuration that was read is committed then
		return RoleReply{}, err
	}
	view := s.view()
	if view.Removed(hostID) {
		return RoleReply{}, spec.Removed(hostID)
	}
	state := s.stateOf(hostID, configured)
	return RoleReply{state.Configured || state.Desired, view.Settings().Incarnation}, nil
}

// RoleHandler answers hosts that ask for their roles; servers are those of the server here while it leads.
func RoleHandler(servers func() (*Servers, error)) rpc.HandlerFunc {
	return rpc.JSON(func(ctx context.Context, from string, _ struct{}) (RoleReply, error) {
		s, err := servers()
		if err != nil {
			return RoleReply{}, err
		}
		return s.ConfirmRole(ctx, from)
	})
}

const (
	// barrierPause is the time from one barrier to the next: each is an entry in the log of every server, and any host may ask for its role.
	barrierPause = 50 * time.Millisecond
	// maxBarrierBatch is how many hosts one barrier answers at most.
	maxBarrierBatch = 4096
)

// barrier is one that those who wait together share.
type barrier struct {
	raft    func() *raft.Raft
	waiting rpc.Batcher[struct{}, error]
	pause   *time.Timer // since the last one; nil: there was none
}

func newBarrier(raft func() *raft.Raft) *barrier {
	b := &barrier{raft: raft}
	b.waiting = rpc.Batcher[struct{}, error]{Handle: b.pass, MaxBatch: maxBarrierBatch}
	return b
}

// wait returns when every entry before the call is committed and in the state.
func (b *barrier) wait(ctx context.Context) error {
	verdict, err := b.waiting.Do(ctx, struct{}{})
	return cmp.Or(err, verdict)
}

// pass is called for one batch at a time.
func (b *barrier) pass(waiting []struct{}) []error {
	if b.pause != nil {
		<-b.pause.C
	}
	err := b.raft().Barrier(0).Error()
	b.pause = time.NewTimer(barrierPause)
	return slices.Repeat([]error{err}, len(waiting))
}
