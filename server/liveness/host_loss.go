package liveness

import (
	"context"
	"fmt"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

const (
	// lossCheckInterval is how often the leader looks at least for hosts to give up; it looks in the moment that one is due.
	lossCheckInterval = 400 * time.Millisecond
	// stallThreshold is how much longer than that it takes when the process was stopped meanwhile.
	stallThreshold = 3 * time.Second
)

// Proposer records a command. It is the leader's.
type Proposer interface {
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
}

// MarkLostHosts is the leader's reconciler of silent hosts, until ctx ends. A host that was silent for the pool's
// TaskLostAfter is lost: its tasks become STOPPED, but for those that were promised more time (see spec.Task.LostAfter),
// whose turn comes later. It never hurries: no host was silent for longer than this server can know, so a new leader counts
// anew. When an earlier one gave the host up (spec.Host.LostAt) says nothing here: that was by another machine's clock. The
// same loop has the state know which hosts are silent, see connectionRecorder.
func (m *Monitor) MarkLostHosts(ctx context.Context, p Proposer) {
	timer := time.NewTimer(lossCheckInterval)
	defer timer.Stop()
	pauses, connections := newStallDetector(), &connectionRecorder{monitor: m}
	for {
		select {
		case <-timer.C:
			if pauses.stalled() { // heartbeats that came meanwhile were not heard
				now := m.server.Now()
				m.table.resetLeases(now, now)
			}
			timer.Reset(min(m.markLostOnce(ctx, p), connections.record(ctx, p)))
		case <-ctx.Done():
			return
		}
	}
}

// stallDetector notices that this process was stopped. It reads the process's own monotonic clock: a pause is about the
// process, while every silence is measured by the pool's clock (Server.Now).
type stallDetector struct{ checked time.Time }

func newStallDetector() *stallDetector { return &stallDetector{time.Now()} }

// stalled reports whether the process was stopped since the call before.
func (d *stallDetector) stalled() bool {
	before := d.checked
	d.checked = time.Now()
	return d.checked.Sub(before) > stallThreshold
}

// markLostOnce marks the hosts and tasks that are due as lost, and returns when to look again.
func (m *Monitor) markLostOnce(ctx context.Context, p Proposer) time.Duration {
	view, now, next := m.server.State().View(), m.server.Now(), tick.Until(lossCheckInterval)
	after := view.Settings().TaskLostAfter
	for _, host := range view.Hosts("") {
		silence := m.table.silence(host.ID, now)
		if silence < m.disconnectedAfter {
			next = min(next, m.disconnectedAfter-silence)
			continue
		}
		l := evaluateLoss(host, view.TasksOn(host.ID), silence, after)
		if l.due {
			lose := raftfsm.MarkHostLost{ID: host.ID, At: now, Keep: l.keep, Reason: fmt.Sprintf("Host %s was lost: no heartbeat for %s", host.Name, silence.Round(time.Second))}
			if _, err := p.Propose(ctx, lose); err != nil {
				m.log.Warn("cannot record the loss of a host; retrying", "host", host.Name, "error", err)
				return lossCheckInterval
			}
			m.log.Warn("host lost: no heartbeats; its tasks are marked STOPPED", "host", host.Name, "hostId", host.ID, "silence", silence, "tasksKept", len(l.keep))
		}
		next = min(next, l.next)
	}
	return next
}

// loss is what the silence of a host means.
type loss struct {
	due  bool          // the host is to be given up now, or some of its tasks after it was
	keep []string      // tasks that have more time
	next time.Duration // until more is due, if the silence lasts
}

// evaluateLoss judges a host that is not connected; poolLostAfter is the time of hosts, and of tasks that have none of their own.
func evaluateLoss(host *spec.Host, tasks []*spec.Task, silence, poolLostAfter time.Duration) loss {
	l := loss{next: lossCheckInterval}
	isDue := func(after time.Duration) bool {
		if silence >= after {
			l.due = true
			return true
		}
		l.next = min(l.next, after-silence)
		return false
	}
	if !host.Lost() {
		isDue(poolLostAfter)
	}
	for _, task := range tasks {
		if task.LastStatus == spec.Stopped {
			continue
		}
		if after, ever := task.LostAfter(poolLostAfter); !ever || !isDue(after) {
			l.keep = append(l.keep, task.ID)
		}
	}
	return l
}
