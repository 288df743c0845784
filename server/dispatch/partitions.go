package dispatch

import (
	"context"
	"fmt"

	"pinion/raftfsm/partition"
	"pinion/raftfsm/spec"
)

// partitionSource is where a host asks how its GPUs are to be partitioned.
type partitionSource interface {
	// GPUPartitions is by a state of this index or a later one.
	GPUPartitions(ctx context.Context, hostID string, after uint64) (partition.List, error)
}

// partitionsRequest is a host's question for its partitions.
type partitionsRequest struct {
	After uint64 `json:"after"` // the newest index that the host has seen: an older answer may name a GPU that a task has
}

// GPUPartitions is how the GPUs of a host are to be partitioned.
func (b *Backend) GPUPartitions(ctx context.Context, hostID string, after uint64) (partition.List, error) {
	if err := b.waitForIndex(ctx, after); err != nil {
		return nil, err
	}
	known := b.server.State().View().Host(hostID)
	if known == nil {
		return nil, fmt.Errorf("host %s: %w", hostID, spec.ErrNotFound)
	}
	return known.Partitions, nil
}

// GPUPartitions is Backend.GPUPartitions.
func (s *AgentSession) GPUPartitions(ctx context.Context, _ string, after uint64) (partition.List, error) {
	reply, err := s.call(ctx, agentMessage{Partitions: &partitionsRequest{after}})
	return reply.Partitions, err
}

// GPUPartitions is Backend.GPUPartitions at the endpoint in use.
func (u *Upstream) GPUPartitions(ctx context.Context, hostID string) (partition.List, error) {
	c := u.current.Load()
	if c == nil {
		return nil, errDisconnected
	}
	return c.GPUPartitions(ctx, hostID, u.minIndex.Load())
}
