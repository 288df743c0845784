package prefetch

import (
	"context"
	"sync/atomic"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// Path is the path at a host for the images that the leader has it fetch before a task needs them.
const Path = "/peer/prefetch"

// Receiver takes in what the leader tells this host to fetch. The zero value is ready. It is safe for concurrent use.
type Receiver struct {
	fetch atomic.Pointer[func(refs []string)]
}

// OnPrefetch sets what is called with the images that this host is to fetch, in place of those of the call before.
func (r *Receiver) OnPrefetch(fetch func(refs []string)) { r.fetch.Store(&fetch) }

// Handler answers servers. A host that is starting is told again.
func (r *Receiver) Handler() rpc.HandlerFunc {
	return rpc.ServerJSON(func(_ context.Context, _ string, in blob.Prefetch) (struct{}, error) {
		fetch := r.fetch.Load()
		if fetch == nil {
			return struct{}{}, spec.Unavailable("this host is starting")
		}
		(*fetch)(in.Refs())
		return struct{}{}, nil
	})
}

// TellHost is Prefetcher.Tell by a client that reaches any host by its id.
func TellHost(hosts *rpc.Client) func(ctx context.Context, hostID string, images []string) error {
	return func(ctx context.Context, hostID string, images []string) error {
		return hosts.Call(ctx, hostID, Path, blob.Prefetch{Images: images}, nil)
	}
}
