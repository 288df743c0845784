package queue

import (
	"math"
	"time"
)

const (
	// HalfLife is the time after which a GPU-hour that a team had counts for half.
	HalfLife = 24 * time.Hour
	// heldHorizon is how long GPUs that a team holds are counted as if they were held on: so that what is given away in one
	// moment is divided, too.
	heldHorizon = time.Hour
)

// team is whose share an item counts for.
type team struct {
	name   string
	quota  int // GPUs; -1: none
	weight float64

	held       int       // GPUs of its tasks that have a place
	running    int       // those of them whose time counts: their tasks have started
	consumed   float64   // GPU-seconds of the past at the moment below
	consumedAt time.Time // zero: nothing yet
}

// gpuUsage is what a task has.
type gpuUsage struct {
	team    *team
	gpus    int
	started time.Time // zero: not yet
}

func (q *Queue) team(name string) *team {
	t := q.teams[name]
	if t == nil {
		t = &team{name: name, quota: -1, weight: 1}
		q.teams[name] = t
	}
	return t
}

// SetTeam says what a team has a right to: a quota of GPUs, negative for none, and the weight of its share.
func (q *Queue) SetTeam(name string, quota, weight int) {
	t := q.team(name)
	t.quota, t.weight = quota, float64(max(1, weight))
}

// StartUsage says that a task has a place and holds GPUs there, and when it started, if it has.
func (q *Queue) StartUsage(task, teamName string, gpus int, started, now time.Time) {
	h := q.usage[task]
	if h == nil {
		h = &gpuUsage{team: q.team(teamName), gpus: gpus}
		q.usage[task] = h
		h.team.held += gpus
	}
	if gpus != h.gpus { // it asked for every GPU of its host, whichever that would be
		h.team.held += gpus - h.gpus
		if !h.started.IsZero() {
			h.team.advance(now)
			h.team.running += gpus - h.gpus
		}
		h.gpus = gpus
	}
	if h.started.IsZero() && !started.IsZero() {
		h.started = started
		h.team.consume(gpus, started, now, now)
		h.team.running += gpus
	}
}

// EndUsage says that a task has stopped and holds nothing any more.
func (q *Queue) EndUsage(task string, stopped, now time.Time) {
	h := q.usage[task]
	if h == nil {
		return
	}
	delete(q.usage, task)
	h.team.held -= h.gpus
	if !h.started.IsZero() {
		h.team.consume(-h.gpus, stopped, now, now) // what was counted too much
		h.team.running -= h.gpus
	}
}

// ChargeUsage says that a team had so many GPU-seconds around a moment of the past.
func (q *Queue) ChargeUsage(teamName string, gpuSeconds float64, at, now time.Time) {
	t := q.team(teamName)
	t.advance(now)
	if at.Before(t.consumedAt) {
		t.consumed += gpuSeconds * decay(t.consumedAt.Sub(at))
	}
}

// consume adds the time that so many GPUs were held.
func (t *team) consume(gpus int, from, to, now time.Time) {
	t.advance(now)
	if from.Before(to) && !to.After(t.consumedAt) {
		t.consumed += float64(gpus) * (decay(t.consumedAt.Sub(to)) - decay(t.consumedAt.Sub(from))) * decayIntegral
	}
}

// decayIntegral is what a GPU comes to, in seconds, that is held for ever.
var decayIntegral = HalfLife.Seconds() / math.Ln2

// decay is what a second counts for that is so long ago.
func decay(ago time.Duration) float64 { return math.Exp2(-ago.Seconds() / HalfLife.Seconds()) }

// advance brings consumed to a moment. The clock of another leader may be behind: time does not go back.
func (t *team) advance(now time.Time) {
	if t.consumedAt.IsZero() {
		t.consumedAt = now
	}
	if now.After(t.consumedAt) {
		left := decay(now.Sub(t.consumedAt))
		t.consumed = t.consumed*left + float64(t.running)*(1-left)*decayIntegral
		t.consumedAt = now
	}
}

// share is how much the team had and holds for its weight: the least is next.
func (t *team) share(now time.Time) float64 {
	t.advance(now)
	return (t.consumed + float64(t.held)*heldHorizon.Seconds()) / t.weight
}

// borrows says whether so many GPUs more are more than the team has a right to. Who asks for none takes nothing from
// others.
func (t *team) borrows(gpus int) bool { return gpus > 0 && t.held+gpus > t.quota }

// Borrows says whether the item's team would have more than its quota with it.
func (q *Queue) Borrows(item *Item) bool { return q.team(item.Team).borrows(item.totalGPUs()) }
