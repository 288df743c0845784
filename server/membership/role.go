package membership

import (
	"context"

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
	if err := s.barrier(ctx); err != nil { // the configuration that was read is committed then
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

// barrier returns when every entry before the call is committed and in the state.
func (s *Servers) barrier(ctx context.Context) error {
	reached := make(chan error, 1)
	go func() { reached <- s.consensus.Raft().Barrier(0).Error() }()
	select {
	case err := <-reached:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
