package queue

import (
	"math"
	"time"
)

const (
	// HalfLife is the decay of usage: a GPU-hour of one half-life ago counts for half.
	HalfLife = 24 * time.Hour
	// heldHorizon is the future time for which GPUs in use are charged in advance, so that capacity that becomes free at one
	// moment is shared as well.
	heldHorizon = time.Hour
	// forgottenUsage is the decayed usage, in GPU-seconds, below which an idle team is treated as a new one.
	forgottenUsage = 1
	// minTeamSweep is the number of teams below which idle teams are not removed.
	minTeamSweep = 64
)

// team is the fair share and the quota of one team.
type team struct {
	quota  int // GPUs; -1: none
	weight float64
	refs   int // buckets and usages that refer to it

	held       int       // GPUs of its placed tasks
	running    int       // GPUs of its started tasks
	consumed   float64   // decayed GPU-seconds up to consumedAt
	consumedAt time.Time // zero: nothing yet
}

func newTeam() *team { return &team{quota: -1, weight: 1} }

// Teams holds the fair share, the quota and the GPU usage of each team. It stores no team that equals a new one. It is not
// safe for concurrent use.
type Teams struct {
	byName  map[string]*team
	usage   map[string]*gpuUsage // by task id
	sweepAt int                  // number of teams at which idle ones are removed
}

func newTeams() *Teams {
	return &Teams{byName: map[string]*team{}, usage: map[string]*gpuUsage{}, sweepAt: minTeamSweep}
}

// gpuUsage records the GPUs that one task holds.
type gpuUsage struct {
	team    *team
	gpus    int
	started time.Time // zero: the task has not started
}

// add returns the team of that name, adding it if needed.
func (ts *Teams) add(name string) *team {
	t := ts.byName[name]
	if t == nil {
		t = newTeam()
		ts.byName[name] = t
	}
	return t
}

// lookup returns the team of that name for reading; an unknown team equals a new one.
func (ts *Teams) lookup(name string) *team {
	if t := ts.byName[name]; t != nil {
		return t
	}
	return newTeam()
}

// sweep removes teams that equal a new one each time the number of teams has doubled: any tag value is a team, and most teams
// are short-lived.
func (ts *Teams) sweep(now time.Time) {
	if len(ts.byName) < ts.sweepAt {
		return
	}
	for name, t := range ts.byName {
		if t.isForgettable(now) {
			delete(ts.byName, name)
		}
	}
	ts.sweepAt = max(minTeamSweep, 2*len(ts.byName))
}

func (t *team) isForgettable(now time.Time) bool {
	if t.refs > 0 || t.quota >= 0 || t.weight != 1 {
		return false
	}
	t.advance(now)
	return t.consumed < forgottenUsage
}

// Set sets the quota of a team in GPUs, negative for none, and the weight of its fair share.
func (ts *Teams) Set(name string, quota, weight int) {
	t := ts.add(name)
	t.quota, t.weight = quota, float64(max(1, weight))
}

// Usage returns the number of GPUs that a team holds, and its quota; negative: no quota.
func (ts *Teams) Usage(team string) (held, quota int) {
	t := ts.lookup(team)
	return t.held, t.quota
}

// StartUsage records that a placed task holds GPUs, and when it started; zero when it has not.
func (ts *Teams) StartUsage(task, teamName string, gpus int, started, now time.Time) {
	u := ts.usage[task]
	if u == nil {
		ts.sweep(now)
		u = &gpuUsage{team: ts.add(teamName), gpus: gpus}
		u.team.refs++
		ts.usage[task] = u
		u.team.held += gpus
	}
	if gpus != u.gpus { // its demand was every GPU of a host, known only after placement
		u.team.held += gpus - u.gpus
		if !u.started.IsZero() {
			u.team.advance(now)
			u.team.running += gpus - u.gpus
		}
		u.gpus = gpus
	}
	if u.started.IsZero() && !started.IsZero() {
		u.started = started
		u.team.consume(gpus, started, now, now)
		u.team.running += gpus
	}
}

// EndUsage records that a task has stopped and holds nothing any more. A host whose clock is behind may say that it stopped
// before it started: then it has stopped now.
func (ts *Teams) EndUsage(task string, stopped, now time.Time) {
	u := ts.usage[task]
	if u == nil {
		return
	}
	delete(ts.usage, task)
	u.team.refs--
	u.team.held -= u.gpus
	if stopped.Before(u.started) {
		stopped = now
	}
	if !u.started.IsZero() {
		u.team.consume(-u.gpus, stopped, now, now) // counted up to now, but it ended at stopped
		u.team.running -= u.gpus
	}
}

// Charge adds GPU-seconds that a team has used around a moment of the past.
func (ts *Teams) Charge(teamName string, gpuSeconds float64, at, now time.Time) {
	ts.sweep(now)
	t := ts.add(teamName)
	t.advance(now)
	if at.Before(t.consumedAt) {
		t.consumed += gpuSeconds * decay(t.consumedAt.Sub(at))
	}
}

// consume adds the decayed usage of GPUs that were held from one moment to another.
func (t *team) consume(gpus int, from, to, now time.Time) {
	t.advance(now)
	if from.Before(to) && !to.After(t.consumedAt) {
		t.consumed += float64(gpus) * (decay(t.consumedAt.Sub(to)) - decay(t.consumedAt.Sub(from))) * decayIntegral
	}
}

// decayIntegral is the decayed usage, in GPU-seconds, of one GPU held for ever.
var decayIntegral = HalfLife.Seconds() / math.Ln2

// decay returns the weight of a second at that age.
func decay(ago time.Duration) float64 { return math.Exp2(-ago.Seconds() / HalfLife.Seconds()) }

// advance decays the usage up to now. It never moves back in time: the clock of a new leader may be behind.
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

// fairShare returns the team's usage divided by its weight: the team with the lowest is next.
func (t *team) fairShare(now time.Time) float64 {
	t.advance(now)
	return (t.consumed + float64(t.held)*heldHorizon.Seconds()) / t.weight
}

// borrows reports whether `gpus` more GPUs would exceed the team's quota. Tasks without GPUs never borrow.
func (t *team) borrows(gpus int) bool { return gpus > 0 && t.held+gpus > t.quota }

// Borrows reports whether the item would take its team beyond its quota.
func (q *Queue) Borrows(item *Item) bool { return q.Teams.lookup(item.Team).borrows(item.totalGPUs()) }
