package node

import (
	"context"
	"time"

	"pinion/node/task"
	"pinion/node/volume"
	"pinion/raftfsm/spec"
)

// Volumes are the shared volumes of the host of an agent.
type Volumes struct{ Node *Node }

// RemoveVolume removes a shared volume; its space is freed afterwards. spec.ErrNotFound; spec.ErrInUse while a task of this host that has not ended has it;
// spec.ErrUnavailable before the agent knows its tasks.
func (v Volumes) RemoveVolume(name string) error {
	select {
	case <-v.Node.Assigned:
	default:
		return spec.Unavailable("this host does not know yet which tasks it has: try again in a moment")
	}
	return v.Node.config.Volumes.RemoveShared(name, func() string { return v.user(name) })
}

// user is a task that has the volume; empty when none has.
func (v Volumes) user(name string) string {
	v.Node.mu.Lock()
	defer v.Node.mu.Unlock()
	for id, r := range v.Node.runners {
		if !r.finished && uses(v.Node.config.Volumes, task.VolumesOf(r.Runner), name) {
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
		if err := v.Node.config.Volumes.Sweep(ctx); err != nil && ctx.Err() == nil {
			v.Node.config.Log.Warn("what is left of removed volumes takes space, and is removed further in a minute", "error", err)
			again = time.After(sweepInterval)
		}
		select {
		case <-v.Node.config.Volumes.Removed():
		case <-again:
		case <-ctx.Done():
		}
	}
}
