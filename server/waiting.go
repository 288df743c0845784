package server

import (
	"errors"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/queue"
)

const (
	// followAtOnce is how many changes are taken in at a time.
	followAtOnce = 4096
	// lookPeriod is how often the leader looks for what no change tells: hosts that are heard of again, moments that have
	// come, rights of teams.
	lookPeriod = 250 * time.Millisecond
	// roundTasks is how many tasks of the queue get their places in one entry at most. What an entry touches of the state's
	// trees is copied once, so a task costs less in a bigger one; but other commands wait while it is applied, some 40 ms.
	roundTasks = 3000
	// roundsAtOnce is how many entries are planned before the first of them is recorded.
	roundsAtOnce = 3
	// refusedPause is how long the queue rests when what it planned could not be recorded.
	refusedPause = 50 * time.Millisecond
)

// waiting is what the leader knows of the queue for one term. It follows from the state alone: a new leader starts with a
// view and goes on with the changes. Only placeLoop touches it.
type waiting struct {
	*Server
	term   *term
	queue  *queue.Queue
	mark   raftfsm.Mark         // everything up to here is in the queue
	due    map[string]time.Time // tasks that are to wait before they are in the queue, and until when
	placed map[string]*stay     // tasks with a place of which something is to be known, by id

	lacks *lacks // as the hosts are since the last change of one

	gained map[string]map[string]bool // hosts that have more to give than before, by cluster
	failed int                        // flights that had failed when it was asked last
	looked bool                       // shares may have changed since something was planned

	kept    map[string]*opening // the reservation of each cluster
	teams   map[string]bool     // those on record at the last look
	victims map[string][]string // tasks that were stopped for one that waits, by its id
	flying  map[*round]bool     // being recorded
	landed  chan *round         // recorded, or refused
	pause   time.Time           // nothing is planned before
}

// placeLoop gives tasks that wait their places until the term ends. It sleeps until something has changed that could help
// one of them, and plans the next entry while the last one is being recorded.
func (s *Server) placeLoop(t *term) {
	w := &waiting{Server: s, term: t, flying: map[*round]bool{}, landed: make(chan *round)}
	w.begin()
	look := time.NewTicker(lookPeriod)
	defer look.Stop()
	for t.ctx.Err() == nil {
		more := w.follow()
		if len(w.flying) < roundsAtOnce {
			if r := w.plan(); r != nil {
				w.fly(r)
				continue
			}
		}
		select {
		case <-more:
		case r := <-w.landed:
			w.settle(r)
		case question := <-t.questions:
			question(w)
		case <-look.C:
			w.look()
			w.preempt()
			w.looked = w.queue.Len() > 0
		case <-t.ctx.Done():
		}
	}
	for len(w.flying) > 0 {
		delete(w.flying, <-w.landed)
	}
}

// begin starts from the state as it is.
func (w *waiting) begin() {
	view, now := w.state.View(), w.cfg.Now()
	w.mark = raftfsm.EndOf(view.Index())
	w.queue = queue.New()
	w.due, w.placed, w.kept, w.victims = map[string]time.Time{}, map[string]*stay{}, map[string]*opening{}, map[string][]string{}
	w.gained, w.lacks = map[string]map[string]bool{}, &lacks{}
	w.setTeams(view)
	w.charge(view, now)
	for _, task := range view.Tasks("") {
		w.take(view, task, now)
	}
	for r := range w.flying {
		for _, item := range r.items {
			if first := view.Task(item.ID()); first != nil && first.LastStatus == spec.Provisioning {
				w.queue.Take(item, now)
			}
		}
	}
}

// follow takes in what has changed. more is closed at the next change.
func (w *waiting) follow() (more <-chan struct{}) {
	for {
		changes, more, err := w.state.Changes(w.mark, followAtOnce)
		var forgotten *raftfsm.Forgotten
		if errors.As(err, &forgotten) {
			w.begin()
			continue
		}
		if len(changes) == 0 {
			return more
		}
		w.mark = changes[len(changes)-1].Mark
		view, now := w.state.View(), w.cfg.Now()
		for _, change := range changes {
			switch change.Kind {
			case raftfsm.TaskChange:
				w.take(view, change.Task, now)
				if t := change.Task; t.HostID != "" && t.DesiredStatus == spec.Stopped {
					w.gain(t.Cluster, t.HostID)
				}
			case raftfsm.HostChange:
				w.lacks = &lacks{}
				w.gain(change.Cluster, change.Host.ID)
				w.queue.Renew(change.Cluster)
			}
		}
	}
}

// gain notes that a host has more to give than before.
func (w *waiting) gain(cluster, hostID string) {
	if w.gained[cluster] == nil {
		w.gained[cluster] = map[string]bool{}
	}
	w.gained[cluster][hostID] = true
}

// look takes in what only time tells.
func (w *waiting) look() {
	view, now := w.state.View(), w.cfg.Now()
	w.setTeams(view)
	w.stopOverdue(view, now)
	for id, moment := range w.due {
		if !moment.After(now) {
			delete(w.due, id)
			if task := view.Task(id); task != nil {
				w.take(view, task, now)
			}
		}
	}
}

// charge takes in what teams have used: of tasks that the state has forgotten, and of those that are over.
func (w *waiting) charge(view *raftfsm.View, now time.Time) {
	for _, usage := range view.Usages() {
		for _, hour := range usage.Hours {
			w.queue.Charge(usage.Team, float64(hour.GPUSeconds), hour.Start().Add(time.Hour/2), now)
		}
	}
	for _, task := range view.Tasks("") {
		if gpus := len(task.GPUs()); task.LastStatus == spec.Stopped && gpus > 0 && !task.Times.Started.IsZero() {
			w.queue.Hold(task.ID, task.Terms().Team, gpus, task.Times.Started, now)
			w.queue.Release(task.ID, task.Times.Stopped, now)
		}
	}
}

func (w *waiting) setTeams(view *raftfsm.View) {
	gone := w.teams
	w.teams = map[string]bool{}
	for _, team := range view.Teams() {
		w.teams[team.Name] = true
		delete(gone, team.Name)
		quota := -1
		if team.GPUs != nil {
			quota = *team.GPUs
		}
		w.queue.SetTeam(team.Name, quota, team.Weight)
	}
	for name := range gone {
		w.queue.SetTeam(name, -1, 1)
	}
}
