// Package node is the agent: it runs on every host what the pool has assigned to it, and reports back.
package node

import (
	"context"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// Control is the agent's connection to the pool's servers: server/dispatch.Upstream. It may ask one over the network, so every method may
// fail and is then retried for ever with back-off. While no server can be reached, what runs goes on running.
type Control interface {
	// Join records the host as it describes itself, with the tasks that it runs. It comes before everything else: a
	// host gets no work until it has reported. The ids of tasks the pool does not know are returned; the host stops those.
	Join(ctx context.Context, host spec.Host, running []spec.TaskReport) (unknown []string, err error)
	// Assignments waits until the host's assignments differ from those at index after (0: answer at once) and
	// returns all of them with the index to ask from next time.
	Assignments(ctx context.Context, hostID string, after uint64) ([]spec.Assignment, uint64, error)
	// Report delivers the latest report of each task; when it returns nil they are recorded for good.
	Report(ctx context.Context, hostID string, reports []spec.TaskReport) (unknown []string, err error)
	// Heartbeat reports that the host lives, and the draining targets to which it has no request in flight. It never reaches the log.
	Heartbeat(ctx context.Context, hostID string, drained []string) error
	// Routing waits until the Routing is another value than seen, which is one that it has returned, and nil at first. Nobody may change it.
	Routing(ctx context.Context, hostID string, seen *traffic.Routing) (*traffic.Routing, error)
}
