package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"pinion/packaging/backoff"
	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

const (
	// drainInterval is how often the drainer looks at the hosts.
	drainInterval = time.Second
	// defaultStopTimeout is ECS's time from SIGTERM to SIGKILL of a container that names none.
	defaultStopTimeout = 30 * time.Second
	// maxStopTimeout bounds how long before its end a task is asked to stop, as hosts bound the time that they give it.
	maxStopTimeout = 10 * time.Minute
)

// Drainer is the reconciler of what tasks have to leave: hosts that are drained with them (spec.HostDrain), in time, GPUs that have failed
// (gpufault.Move), and hosts whose critical daemon has failed. What it does follows from the state, so the next leader goes on. One goroutine uses it.
type Drainer struct {
	proposer Proposer
	log      *slog.Logger
	seen     map[string]seenDrain // by host id
}

// seenDrain is when this leader has seen a drain first.
type seenDrain struct {
	drain *spec.HostDrain
	at    time.Time
}

// NewDrainer makes the reconciler for one leader term.
func NewDrainer(p Proposer, log *slog.Logger) *Drainer {
	return &Drainer{p, log, map[string]seenDrain{}}
}

// Loop reconciles until ctx ends.
func (d *Drainer) Loop(ctx context.Context) {
	for backoff.Sleep(ctx, tick.Until(drainInterval)) == nil {
		if err := d.Reconcile(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("cannot stop the tasks of a host that is drained, will try again", "error", err)
		}
	}
}

// Reconcile stops the tasks whose time has come.
func (d *Drainer) Reconcile(ctx context.Context) error {
	view := d.proposer.State().View()
	withDaemons := clustersWithDaemons(view)
	maps.DeleteFunc(d.seen, func(hostID string, _ seenDrain) bool { return view.Host(hostID) == nil })
	for _, host := range view.Hosts("") {
		stops := d.due(view, host)
		if withDaemons[host.Cluster] {
			stops = append(stops, stopsWithoutDaemons(view, host)...)
		}
		for _, stop := range stops {
			stop.At = d.proposer.Now()
			if _, err := d.proposer.Propose(ctx, stop); err != nil && !errors.Is(err, spec.ErrNotFound) {
				return fmt.Errorf("host %s: task %s: %w", host.Name, stop.ID, err)
			}
		}
	}
	return nil
}

// due are the stops of tasks of a host whose time has come.
func (d *Drainer) due(view *raftfsm.View, host *spec.Host) (stops []raftfsm.StopTask) {
	if host.Drain == nil {
		delete(d.seen, host.ID)
		return movesFromGPUs(view, host, d.proposer.Now())
	}
	left := d.left(host)
	for _, t := range view.TasksOn(host.ID) {
		if stop, due := stopForDrain(view, host, t, left); due {
			stops = append(stops, stop)
		}
	}
	return append(stops, movesFromGPUs(view, host, d.proposer.Now())...)
}

// left is the time until the tasks of a host are stopped. It is never longer than it was at first, whatever the clock of this leader says.
func (d *Drainer) left(host *spec.Host) time.Duration {
	now := d.proposer.Now()
	seen, known := d.seen[host.ID]
	if !known || *seen.drain != *host.Drain {
		seen = seenDrain{host.Drain, now}
		d.seen[host.ID] = seen
	}
	return min(host.Drain.At.Sub(now), host.Drain.After-now.Sub(seen.at))
}

// leaveCode is that of the stop of a task that has to leave its place: work that may be tried again is queued again, and loses no attempt by it.
func leaveCode(t *spec.Task) spec.StopCode {
	if options := t.SchedulingOptions(); options.Preemptible || options.Retries > t.Failed {
		return spec.StopPreempted
	}
	return spec.StopScheduler
}

// stopForDrain is how a task is stopped of which the host is drained in so much time; false: not yet, or not again.
func stopForDrain(view *raftfsm.View, host *spec.Host, t *spec.Task, left time.Duration) (raftfsm.StopTask, bool) {
	stop := raftfsm.StopTask{ID: t.ID, Code: leaveCode(t), Reason: fmt.Sprintf("Host %s is drained", host.Name)}
	ahead := time.Duration(0)
	if host.Drain.Kill {
		stop.Force, ahead = left <= 0, stopTimeout(view, t)
	}
	switch {
	case t.LastStatus == spec.Stopped || t.ForceStop:
		return stop, false
	case t.DesiredStatus == spec.Stopped:
		return stop, stop.Force
	}
	return stop, left <= ahead
}

// stopTimeout is how long the containers of a task may take to stop, one after the other.
func stopTimeout(view *raftfsm.View, t *spec.Task) (all time.Duration) {
	definition := view.Definition(t.Definition)
	if definition == nil {
		return defaultStopTimeout
	}
	for _, c := range definition.Containers {
		if c.StopTimeout != nil {
			all += time.Duration(*c.StopTimeout) * time.Second
		} else {
			all += defaultStopTimeout
		}
	}
	return min(all, maxStopTimeout)
}
