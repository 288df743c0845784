package node

import (
	"context"
	"log/slog"
	"time"

	"pinion/node/task"
	"pinion/node/volume"
	"pinion/raftfsm/spec"
)

// Volumes are the shared volumes of the host of an agent.
type Volumes struct {
	roots    *volume.Roots
	assigned <-chan struct{}          // closed when the agent knows its tasks
	user     func(name string) string // a task that has the volume; empty when none has
	log      *slog.Logger
}

// NewVolumes returns the shared volumes of the host of an agent.
func NewVolumes(n *Node) Volumes {
	return Volumes{n.config.Volumes, n.Assigned, func(name string) string { return volumeUser(n, name) }, n.config.Log}
}

// RemoveVolume removes a shared volume; its space is freed afterwards. spec.ErrNotFound; spec.ErrInUse while a task of this host that has not ended has it;
// spec.ErrUnavailable before the agent knows its tasks.
func (v Volumes) RemoveVolume(name string) error {
	select {
	case <-v.assigned:
	default:
		return spec.Unavailable("this host does not know yet which tasks it has: try again in a moment")
	}
	return v.roots.RemoveShared(name, func() string { return v.user(name) })
}

// volumeUser is a task of an agent that has the volume; empty when none has.
func volumeUser(n *Node, name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, r := range n.runners {
		if !r.finished && uses(n.config.Volumes, task.VolumesOf(r.Runner), name) {
			return id
		}
	}
	return ""
}

// uses reports whether the volumes of a task lead to the shared volume of that name. What cannot be found leads nowhere.
func uses(roots *volume.Roots, volumes []spec.Volume, name string) bool {
	for _, v := range volumes {
		if v.Docker.Shared() && v.Name == name {
			return true
		}
		if v.Host == nil || v.Host.SourcePath == "" {
			continue
		}
		if found, err := roots.Find(v.Host.SourcePath); err == nil && found.InShared(name) {
			return true
		}
	}
	return false
}

// sweepInterval is the time between two tries to free removed volumes: a volume of many files takes several times.
const sweepInterval = time.Minute

// sweep frees the space of volumes that were removed, also before the agent was started.
func (v Volumes) sweep(ctx context.Context) {
	for ctx.Err() == nil {
		var again <-chan time.Time
		if err := v.roots.Sweep(ctx); err != nil && ctx.Err() == nil {
			v.log.Warn("what is left of removed volumes takes space, and is removed further in a minute", "error", err)
			again = time.After(sweepInterval)
		}
		select {
		case <-v.roots.Removed():
		case <-again:
		case <-ctx.Done():
		}
	}
}
