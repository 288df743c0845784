package membership

import (
	"context"
	"fmt"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// PathHostTags is the path at the leader for the tags that the pool has of a host. Any host may call it: each gets its own.
const PathHostTags = "/peer/leader/host-tags"

// HostTags are the tags that the pool has of this host, which it asks the leader for, and of the hosts that ask this one while it leads.
type HostTags struct {
	Leader rpc.Leadership
	HostID string                             // of this host
	Server func() (LinearizableReader, error) // the server here, while it leads
}

// LinearizableReader has linearizable views of the state.
type LinearizableReader interface {
	View(ctx context.Context) (*raftfsm.View, error)
}

// Tags are the tags that the pool has of this host.
func (h HostTags) Tags(ctx context.Context) ([]spec.Tag, error) {
	return h.call().Do(ctx, h.Leader, h.HostID, struct{}{})
}

// Routes answers other hosts, by the path of the call.
func (h HostTags) Routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{PathHostTags: h.call().Handler()}
}

func (h HostTags) call() rpc.LeaderCall[struct{}, []spec.Tag] {
	return rpc.LeaderCall[struct{}, []spec.Tag]{Path: PathHostTags, Answer: func(ctx context.Context, from string, _ struct{}) ([]spec.Tag, error) {
		server, err := h.Server()
		if err != nil {
			return nil, err
		}
		view, err := server.View(ctx)
		if err != nil {
			return nil, err
		}
		host := view.Host(from)
		if host == nil {
			return nil, fmt.Errorf("host %s: %w", from, spec.ErrNotFound)
		}
		return append([]spec.Tag{}, host.Tags...), nil
	}}
}
