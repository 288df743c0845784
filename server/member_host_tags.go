package server

import (
	"context"
	"fmt"

	"pinion/raftfsm/spec"
)

// pathHostTags is where the leader tells a host the tags that the pool has of it. Any host may call it: each gets its own.
const pathHostTags = pathLeader + "host-tags"

// hostTagsHandler answers the calls of hosts.
func hostTagsHandler(a *peerAPI) func(ctx context.Context, from string, in struct{}) ([]spec.Tag, error) {
	return func(ctx context.Context, from string, _ struct{}) ([]spec.Tag, error) {
		own, err := a.server.leading()
		if err != nil {
			return nil, err
		}
		return own.tagsOfHost(ctx, from)
	}
}

func (s *Server) tagsOfHost(ctx context.Context, hostID string) ([]spec.Tag, error) {
	view, err := s.View(ctx)
	if err != nil {
		return nil, err
	}
	host := view.Host(hostID)
	if host == nil {
		return nil, fmt.Errorf("host %s: %w", hostID, spec.ErrNotFound)
	}
	return append([]spec.Tag{}, host.Tags...), nil
}
