package server

import (
	"context"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
	"pinion/server/prefetch"
)

// pathPrefetch is where the leader tells a host which images to fetch before a task needs them.
const pathPrefetch = "/peer/prefetch"

// OnPrefetch sets what is called with the images that this host is to fetch, in place of those of the call before.
func (b *Blobs) OnPrefetch(fetch func(refs []string)) { b.handlers.prefetch.Store(&fetch) }

// prefetchHandler answers servers. A host that is starting is told again.
func prefetchHandler(a *peerAPI) func(ctx context.Context, from string, in blob.Prefetch) (struct{}, error) {
	return func(_ context.Context, _ string, in blob.Prefetch) (struct{}, error) {
		fetch := a.handlers.prefetch.Load()
		if fetch == nil {
			return struct{}{}, spec.Unavailable("this host is starting")
		}
		(*fetch)(in.Refs())
		return struct{}{}, nil
	}
}

// prefetcher is the loop of a leader term that has hosts fetch images.
func (s *Server) prefetcher() *prefetch.Prefetcher {
	return &prefetch.Prefetcher{
		State: s.state, Reservations: s.scheduler.Reservations, Connected: s.liveness.Connected, Log: s.log,
		Tell: func(ctx context.Context, hostID string, images []string) error {
			return s.cfg.hosts.Call(ctx, hostID, pathPrefetch, blob.Prefetch{Images: images}, nil)
		},
	}
}
