package server

import (
	"errors"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/queue"
)

const (
	// maxFollowedChanges is how many changes are taken in at a time.
	maxFollowedChanges = 4096
	// queuePollInterval is how often the leader looks for what no change tells: hosts that are heard of again, moments that have
	// come, rights of teams.
	queuePollInterval = 250 * time.Millisecond
	// maxRoundTasks is how many tasks of the queue get their places in one entry at most. What an entry touches of the state's
	// trees is copied once, so a task costs less in a bigger one; but other commands wait while it is applied, some 40 ms.
	maxRoundTasks = 3000
	// maxRoundsInFlight is how many entries are planned before the first of them is recorded.
	maxRoundsInFlight = 3
	// conflictBackoff is how long the queue rests when what it planned could not be recorded.
	conflictBackoff = 50 * time.Millisecond
)

// queueController is what the leader knows of the queue for one term. It follows from the state alone: a new leader starts with a
// view and goes on with the changes. Only placeLoop touches it.
type queueController struct {
	*Server
	term      *leaderTerm
	queue     *queue.Queue
	position  raftfsm.Position       // everything up to here is in the queue
	notBefore map[string]time.Time   // tasks that are to wait before they are in the queue, and until when
	placed    map[string]*placedTask // tasks with a place of which something is to be known, by id

	infeasible *infeasibilityCache // as the hosts are since the last change of one

	freedHosts    map[string]map[string]bool // hosts that have more to give than before, by cluster
	failedPlans   int                        // flights that had failed when it was asked last
	sharesChanged bool                       // shares may have changed since something was planned

	reservations map[string]*reservation // the reservation of each cluster
	teams        map[string]bool         // those on record at the last look
	victims      map[string][]string     // tasks that were stopped for one that waits, by its id
	committing   map[*queueRound]bool    // being recorded
	committed    chan *queueRound        // recorded, or refused
	backoffUntil time.Time               // nothing is planned before
}

// placeLoop gives tasks that wait their places until the term ends. It sleeps until something has changed that could help
// one of them, and plans the next entry while the last one is being recorded.
func (s *Server) placeLoop(t *leaderTerm) {
	w := &queueController{Server: s, term: t, committing: map[*queueRound]bool{}, committed: make(chan *queueRound)}
	w.rebuild()
	look := time.NewTicker(queuePollInterval)
	defer look.Stop()
	for t.ctx.Err() == nil {
		more := w.followChanges()
		if len(w.committing) < maxRoundsInFlight {
			if r := w.planRound(); r != nil {
				w.commit(r)
				continue
			}
		}
		select {
		case <-more:
		case r := <-w.committed:
			w.requeueRefused(r)
		case question := <-t.queueQueries:
			question(w)
		case <-look.C:
			w.poll()
			w.preempt()
			w.sharesChanged = w.queue.Len() > 0
		case <-t.ctx.Done():
		}
	}
	for len(w.committing) > 0 {
		delete(w.committing, <-w.committed)
	}
}

// rebuild starts from the state as it is.
func (w *queueController) rebuild() {
	view, now := w.state.View(), w.cfg.Now()
	w.position = raftfsm.PositionAfter(view.Index())
	w.queue = queue.New()
	w.notBefore, w.placed, w.reservations, w.victims = map[string]time.Time{}, map[string]*placedTask{}, map[string]*reservation{}, map[string][]string{}
	w.freedHosts, w.infeasible = map[string]map[string]bool{}, &infeasibilityCache{}
	w.setTeams(view)
	w.loadUsage(view, now)
	for _, task := range view.Tasks("") {
		w.reconcileTask(view, task, now)
	}
	for r := range w.committing {
		for _, item := range r.items {
			if first := view.Task(item.ID()); first != nil && first.LastStatus == spec.Provisioning {
				w.queue.MarkPlaced(item, now)
			}
		}
	}
}

// followChanges takes in what has changed. more is closed at the next change.
func (w *queueController) followChanges() (more <-chan struct{}) {
	for {
		changes, more, err := w.state.Changes(w.position, maxFollowedChanges)
		var forgotten *raftfsm.CompactedError
		if errors.As(err, &forgotten) {
			w.rebuild()
			continue
		}
		if len(changes) == 0 {
			return more
		}
		w.position = changes[len(changes)-1].Position
		view, now := w.state.View(), w.cfg.Now()
		for _, change := range changes {
			switch change.Kind {
			case raftfsm.TaskChange:
				w.reconcileTask(view, change.Task(), now)
				if t := change.Task(); t.HostID != "" && t.DesiredStatus == spec.Stopped {
					w.markFreed(t.Cluster, t.HostID)
				}
			case raftfsm.HostChange:
				w.infeasible = &infeasibilityCache{}
				w.markFreed(change.ClusterName, change.Host().ID)
				w.queue.ResetRefusals(change.ClusterName)
			}
		}
	}
}

// markFreed notes that a host has more to give than before.
func (w *queueController) markFreed(cluster, hostID string) {
	if w.freedHosts[cluster] == nil {
		w.freedHosts[cluster] = map[string]bool{}
	}
	w.freedHosts[cluster][hostID] = true
}

// poll takes in what only time tells.
func (w *queueController) poll() {
	view, now := w.state.View(), w.cfg.Now()
	w.setTeams(view)
	w.stopTimedOut(view, now)
	for id, moment := range w.notBefore {
		if !moment.After(now) {
			delete(w.notBefore, id)
			if task := view.Task(id); task != nil {
				w.reconcileTask(view, task, now)
			}
		}
	}
}

// loadUsage takes in what teams have used: of tasks that the state has forgotten, and of those that are over.
func (w *queueController) loadUsage(view *raftfsm.View, now time.Time) {
	for _, usage := range view.Usages() {
		for _, hour := range usage.Hours {
			w.queue.Teams.Charge(usage.Team, float64(hour.GPUSeconds), hour.Start().Add(time.Hour/2), now)
		}
	}
	for _, task := range view.Tasks("") {
		if gpus := len(task.GPUs()); task.LastStatus == spec.Stopped && gpus > 0 && !task.Times.Started.IsZero() {
			w.queue.Teams.StartUsage(task.ID, task.SchedulingOptions().Team, gpus, task.Times.Started, now)
			w.queue.Teams.EndUsage(task.ID, task.Times.Stopped, now)
		}
	}
}

func (w *queueController) setTeams(view *raftfsm.View) {
	gone := w.teams
	w.teams = map[string]bool{}
	for _, team := range view.Teams() {
		w.teams[team.Name] = true
		delete(gone, team.Name)
		quota := -1
		if team.GPUs != nil {
			quota = *team.GPUs
		}
		w.queue.Teams.Set(team.Name, quota, team.Weight)
	}
	for name := range gone {
		w.queue.Teams.Set(name, -1, 1)
	}
}
