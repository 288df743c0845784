package scheduler

import (
	"context"
	"log/slog"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/team"
	"pinion/server/schedule/queue"
)

const (
	// maxFollowedChanges is the number of changes that are taken in at a time.
	maxFollowedChanges = 4096
	// queuePollInterval is how often the controller looks for what no change tells: hosts that reconnect, moments that have
	// come, quotas and weights of teams.
	queuePollInterval = 200 * time.Millisecond
	// maxRoundTasks is the number of tasks that one log entry places at most. A task costs less in a bigger entry, which copies
	// each part of the state's trees once; but other commands wait while it is applied, some 40 ms.
	maxRoundTasks = 3000
	// maxRoundsInFlight is the number of rounds that are planned before the first of them is committed.
	maxRoundsInFlight = 3
	// conflictBackoff is the pause after a round of which nothing could be recorded.
	conflictBackoff = 50 * time.Millisecond
)

// queueController is the reconciler of the queue: it places pending tasks, stops tasks at their time limit or for others
// (preemption), and lives for one leader term. What it knows is derived from the state, so a new leader goes on from a view.
// One goroutine uses it, its loop.
type queueController struct {
	ctx     context.Context // of the term
	node    Node
	log     *slog.Logger
	planner *planner

	queue    *queue.Queue
	follower raftfsm.Follower // keeps the fields up to reservations in step with the state
	pauses   retryDelays      // of pending tasks that have, or had, to wait for a moment
	placed   placedTasks
	teams    map[string]bool // with a quota or weight on record

	freed         freedHosts
	failedPlans   int  // of the planner, when it was asked last
	sharesChanged bool // fair shares may have changed since the last round
	reservations  reservations
	infeasible    *infeasibilityCache // of the hosts as they are

	committing    map[*queueRound]bool // rounds in flight
	committed     chan *queueRound     // rounds whose outcome is known
	backoffUntil  time.Time            // nothing is planned before
	victimsByItem victimsByItem
	stops         stopper
	queries       chan snapshotQuery
}

// freedHosts are hosts with more free capacity than before, by cluster.
type freedHosts map[string]map[string]bool

func (f freedHosts) add(cluster, hostID string) {
	if f[cluster] == nil {
		f[cluster] = map[string]bool{}
	}
	f[cluster][hostID] = true
}

func newQueueController(ctx context.Context, node Node, p *planner, log *slog.Logger) *queueController {
	w := &queueController{ctx: ctx, node: node, planner: p, log: log,
		committing: map[*queueRound]bool{}, committed: make(chan *queueRound), queries: make(chan snapshotQuery)}
	w.follower = raftfsm.Follower{State: node.State(), Rebuild: w.rebuild, Apply: w.apply, Limit: maxFollowedChanges}
	w.stops = stopper{node: node, log: log, done: make(chan []string)}
	return w
}

// loop places pending tasks until the term ends. It sleeps until something has changed that could help one of them, and plans
// the next entry while others are in the log.
func (w *queueController) loop() {
	poll := tick.New(queuePollInterval)
	defer poll.Stop()
	for w.ctx.Err() == nil {
		_, changed := w.follower.CatchUp()
		if len(w.committing) < maxRoundsInFlight {
			if r := w.planRound(); r != nil {
				w.commit(r)
				continue
			}
		}
		select {
		case <-changed:
		case r := <-w.committed:
			w.requeueRefused(r)
		case failed := <-w.stops.done:
			w.stopsDone(failed)
		case q := <-w.queries:
			w.follower.CatchUp()
			q.reply <- w.snapshot(q)
		case <-poll.C:
			w.poll()
			w.reservations.publish()
		case <-w.ctx.Done():
		}
	}
	for len(w.committing) > 0 {
		delete(w.committing, <-w.committed)
	}
	w.stops.wait()
}

// rebuild derives everything from a view.
func (w *queueController) rebuild(view *raftfsm.View) {
	now := w.node.Now()
	w.queue = queue.New()
	w.pauses, w.placed, w.reservations.byCluster, w.victimsByItem = retryDelays{}, placedTasks{}, map[string]*reservation{}, victimsByItem{}
	w.freed, w.infeasible = freedHosts{}, &infeasibilityCache{}
	w.setTeams(view)
	w.loadUsage(view, now)
	for _, task := range view.Tasks("") {
		w.reconcileTask(view, task, now)
	}
	for r := range w.committing {
		for _, p := range r.placed {
			if first := view.Task(p.item.ID()); first != nil && first.LastStatus == spec.Provisioning {
				w.queue.MarkPlaced(p.item, now)
			}
		}
	}
}

// apply takes in changes of the state.
func (w *queueController) apply(view *raftfsm.View, changes []*raftfsm.Change) {
	now := w.node.Now()
	for _, change := range changes {
		switch change.Kind {
		case raftfsm.TaskChange:
			w.reconcileTask(view, change.Task(), now)
			w.noteFreed(view, change.Task())
		case raftfsm.HostChange:
			w.infeasible = &infeasibilityCache{}
			w.freed.add(change.ClusterName, change.Host().ID)
			w.queue.ResetRefusals(change.ClusterName)
		case raftfsm.ServiceChange:
			w.noteDaemon(view, change.Object.(*service.Service))
		case raftfsm.ClusterChange: // its settings are part of what its tasks ask for
			w.rebuild(view)
			return // the view has the other changes
		}
	}
}

// noteFreed has pending tasks tried on the host of a task that leaves room to them: it stops, or it is of a daemon for which the host waited.
func (w *queueController) noteFreed(view *raftfsm.View, t *spec.Task) {
	runs := t.LastStatus == spec.Running && t.Service != nil && view.ServiceRevision(t.Service.Deployment).IsCritical()
	if t.HostID != "" && (runs || t.DesiredStatus == spec.Stopped) {
		w.freed.add(t.Cluster, t.HostID)
	}
	if runs {
		w.queue.ResetRefusals(t.Cluster) // reservations had to leave the host out
	}
}

// noteDaemon has pending tasks tried on all hosts of the cluster of a daemon, which perhaps do not wait for it any more.
func (w *queueController) noteDaemon(view *raftfsm.View, s *service.Service) {
	if !s.IsDaemon() {
		return
	}
	for _, host := range view.Hosts(s.Cluster) {
		w.freed.add(s.Cluster, host.ID)
	}
	w.queue.ResetRefusals(s.Cluster)
}

// poll takes in what no change tells.
func (w *queueController) poll() {
	view, now := w.node.State().View(), w.node.Now()
	w.setTeams(view)
	for id := range w.pauses.ended(now) {
		if task := view.Task(id); task != nil {
			w.reconcileTask(view, task, now)
		}
	}
	if !w.stops.busy {
		stops := w.placed.timedOut(view, now)
		if w.node.CheckWritable() == nil { // else no task could get the place
			stops = append(stops, w.preempt(now)...)
		}
		w.stops.start(w.ctx, stops)
	}
	w.sharesChanged = w.queue.Len() > 0
}

// loadUsage takes in the GPU usage on record: of forgotten tasks by the hour, and of stopped tasks.
func (w *queueController) loadUsage(view *raftfsm.View, now time.Time) {
	for _, usage := range view.Usages() {
		for _, hour := range usage.Hours {
			w.queue.Teams.Charge(usage.Team, gpuuse.Milli*float64(hour.GPUSeconds), hour.Start().Add(time.Hour/2), now)
		}
	}
	for _, task := range view.Tasks("") {
		if milli := task.GPUMilli(); task.LastStatus == spec.Stopped && milli > 0 && !task.Times.Started.IsZero() {
			w.queue.Teams.StartUsage(task.ID, task.SchedulingOptions().Team, milli, task.Times.Started, now)
			w.queue.Teams.EndUsage(task.ID, task.Times.Stopped, now)
		}
	}
}

// setTeams takes in quotas and weights.
func (w *queueController) setTeams(view *raftfsm.View) {
	deleted := w.teams
	w.teams = map[string]bool{}
	for _, known := range team.All(view) {
		w.teams[known.Name] = true
		delete(deleted, known.Name)
		quota := -1
		if known.GPUs != nil {
			quota = *known.GPUs * gpuuse.Milli
		}
		w.queue.Teams.Set(known.Name, quota, known.Weight)
	}
	for name := range deleted {
		w.queue.Teams.Set(name, -1, 1)
	}
}
