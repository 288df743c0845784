package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"pinion/packaging/backoff"
	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/repartition"
)

const (
	// partitionInterval is how often the leader looks for tasks that wait for a GPU to be partitioned.
	partitionInterval = time.Second
	// mergeAfter is how long nobody may have a MIG device before it goes: others may ask for the same.
	mergeAfter = 5 * time.Minute
	// partitionDeadline is how long a host may take, and partitionPause how long a GPU is left alone with which it took longer.
	partitionDeadline = 2 * time.Minute
	partitionPause    = 10 * time.Minute
	// maxPartitionTasks bounds the waiting tasks of a cluster for which GPUs are partitioned at a time.
	maxPartitionTasks = 64
)

// GPUPartitions is the reconciler of GPUs that the pool partitions: it records how they are to be partitioned for the tasks that wait, and makes them
// whole again. Their hosts do it. One goroutine uses it.
type GPUPartitions struct {
	Proposer    Proposer
	Schedulable func(hostID string) bool // a host was heard of lately enough for new tasks
	Log         *slog.Logger

	idleSince map[repartition.Instance]time.Time
	overdue   map[hostGPU]time.Time // GPUs that are not what they are to be, and whose host is there: since when
	paused    map[hostGPU]time.Time // GPUs that are left alone: until when
}

// hostGPU is a GPU as a host names it.
type hostGPU struct{ hostID, uuid string }

// Loop reconciles until ctx ends.
func (g *GPUPartitions) Loop(ctx context.Context) {
	for backoff.Sleep(ctx, tick.Until(partitionInterval)) == nil {
		if err := g.Reconcile(ctx); err != nil && ctx.Err() == nil {
			g.Log.Warn("cannot record how GPUs are to be partitioned, will try again", "error", err)
		}
	}
}

// Reconcile records what is to change. What the state has refused meanwhile, because a task got the GPU, is planned anew.
func (g *GPUPartitions) Reconcile(ctx context.Context) error {
	view, now := g.Proposer.State().View(), g.Proposer.Now()
	clusters := map[string]bool{}
	for _, host := range view.Hosts("") {
		if host.GPUs.DynamicMIG {
			clusters[host.Cluster] = true
		}
	}
	if len(clusters) == 0 || view.MayWrite(raftfsm.SetGPUPartition{}) != nil {
		return nil
	}
	changes := g.abandonOverdue(view, now)
	idle := map[repartition.Instance]time.Time{}
	for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
		changes = append(changes, g.changes(view, cluster, now, idle)...)
	}
	g.idleSince = idle
	for _, c := range changes {
		_, err := g.Proposer.Propose(ctx, raftfsm.SetGPUPartition{HostID: c.HostID, UUID: c.UUID, Layout: c.Layout, At: now.Round(0)})
		switch {
		case ctx.Err() != nil, errors.Is(err, spec.ErrUnavailable):
			return err
		case err != nil: // the state has changed meanwhile
			g.Log.Debug("a GPU is not partitioned", "hostId", c.HostID, "gpu", c.UUID, "error", err)
		default:
			g.Log.Info("a GPU is to be partitioned", "hostId", c.HostID, "gpu", c.UUID, "layout", c.Layout.String())
		}
	}
	return nil
}

// changes is what is to change in a cluster. It adds the MIG devices that nobody has to idle, with since when.
func (g *GPUPartitions) changes(view *raftfsm.View, cluster string, now time.Time, idle map[repartition.Instance]time.Time) []repartition.Change {
	var hosts []schedule.Host
	for _, host := range view.Hosts(cluster) {
		hosts = append(hosts, schedule.Host{Host: host, Connected: g.Schedulable(host.ID), Tasks: func() []*spec.Task { return view.TasksOn(host.ID) }})
	}
	requests := waiting(view, cluster, now)
	if !slices.ContainsFunc(requests, schedule.AsksForMIG) && !slices.ContainsFunc(hosts, func(h schedule.Host) bool { return len(h.Host.Partitions) > 0 }) {
		return nil
	}
	isPaused := func(hostID, uuid string) bool { return now.Before(g.paused[hostGPU{hostID, uuid}]) }
	partitioning := repartition.New(hosts, isPaused)
	for _, r := range requests {
		partitioning.Add(r)
	}
	for _, device := range partitioning.Idle() {
		since, known := g.idleSince[device]
		if !known {
			since = now
		}
		if idle[device] = since; now.Sub(since) >= mergeAfter {
			partitioning.Remove(device)
		}
	}
	return partitioning.Changes()
}

// waiting are the requests of the tasks with GPUs that wait for a place in a cluster, by priority and age. A gang is one.
func waiting(view *raftfsm.View, cluster string, now time.Time) (requests []schedule.Request) {
	var tasks []*spec.Task
	for task := range view.QueuedTasks(cluster) {
		if isReady(view, task, now) && (task.Gang == nil || task.Gang.Rank == 0) {
			tasks = append(tasks, task)
		}
	}
	slices.SortStableFunc(tasks, func(a, b *spec.Task) int {
		return cmp.Or(cmp.Compare(b.SchedulingOptions().Priority, a.SchedulingOptions().Priority), a.CreatedAt.Compare(b.CreatedAt))
	})
	for _, task := range tasks {
		r := schedule.RequestFor(view, task, spec.Effective(view.Definition(task.Definition), task.Overrides.Get()))
		if demand := spec.DemandOf(r.Definition); demand.WantsAllGPUs() || demand.TotalGPUs() == 0 {
			continue
		}
		if task.Gang != nil {
			r.Run.Count = len(view.Gang(task.Gang.ID))
		}
		if requests = append(requests, r); len(requests) == maxPartitionTasks {
			break
		}
	}
	return requests
}

// isReady reports whether a task, and its gang, waits for nothing but a place.
func isReady(view *raftfsm.View, task *spec.Task, now time.Time) bool {
	all := []*spec.Task{task}
	if task.Gang != nil {
		all = view.Gang(task.Gang.ID)
	}
	return !slices.ContainsFunc(all, func(t *spec.Task) bool {
		return t.Queue == nil || t.Queue.NotBefore.After(now) || t.Held() || t.Blocked() || t.DesiredStatus == spec.Stopped || view.Definition(t.Definition) == nil
	})
}

// abandonOverdue has GPUs stay as they are that their hosts could not partition while they were there, and leaves them alone for a while.
func (g *GPUPartitions) abandonOverdue(view *raftfsm.View, now time.Time) (changes []repartition.Change) {
	maps.DeleteFunc(g.paused, func(_ hostGPU, until time.Time) bool { return !now.Before(until) })
	overdue := map[hostGPU]time.Time{}
	for _, host := range view.Hosts("") {
		for _, p := range host.Partitions {
			key, has := hostGPU{host.ID, p.UUID}, host.GPUs.Layout(p.UUID)
			if slices.Equal(has, p.Layout) || !g.Schedulable(host.ID) || now.Before(g.paused[key]) {
				continue
			}
			since, known := g.overdue[key]
			if !known || p.At.After(since) {
				since = now
			}
			if overdue[key] = since; now.Sub(since) < partitionDeadline {
				continue
			}
			if g.paused == nil {
				g.paused = map[hostGPU]time.Time{}
			}
			g.paused[key] = now.Add(partitionPause)
			g.Log.Warn("a host does not partition its GPU, which is left alone for a while", "host", host.Name, "gpu", p.UUID, "wantedLayout", p.Layout.String(), "layout", has.String())
			changes = append(changes, repartition.Change{HostID: host.ID, UUID: p.UUID, Layout: has})
		}
	}
	g.overdue = overdue
	return changes
}
