package scaling

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/raftfsm/metric"
	"pinion/raftfsm/spec"
)

// Bounds of a target's record; those of policies and scheduled actions are AWS's.
const (
	MaxPolicies   = 50
	MaxActions    = 200
	MaxActivities = 100 // the newest stay
)

// Target is a service that is scaled between Min and Max tasks. It has the id of its service and goes with it.
type Target struct {
	ServiceID string `json:"service"`
	Cluster   string `json:"cluster"`
	Service   string `json:"name"`
	Min       int    `json:"min"`
	Max       int    `json:"max"`

	Suspended  Suspension        `json:"suspended,omitzero"`
	Policies   []Policy          `json:"policies,omitempty"`   // by name
	Actions    []ScheduledAction `json:"actions,omitempty"`    // by name
	Activities []Activity        `json:"activities,omitempty"` // the oldest first
	Out        Step              `json:"out,omitzero"`         // the last that policies did
	In         Step              `json:"in,omitzero"`

	Role      string     `json:"role,omitempty"` // echoed
	Tags      []spec.Tag `json:"tags,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
}

// Suspension lists the causes that do not scale the service for now.
type Suspension struct {
	In        bool `json:"in,omitempty"`        // policies that scale in
	Out       bool `json:"out,omitempty"`       // policies that scale out
	Scheduled bool `json:"scheduled,omitempty"` // scheduled actions
}

// Step is a number of tasks that were added or taken away, and the time.
type Step struct {
	At time.Time `json:"at"`
	By int       `json:"by"`
}

// Activity is a change of the desired count and its cause, or one that failed and changed nothing.
type Activity struct {
	ID     string    `json:"id"` // UUID, that of the service's event too
	At     time.Time `json:"at"`
	To     int       `json:"to"` // the desired count from then on
	Cause  string    `json:"cause"`
	Failed string    `json:"failed,omitempty" level:"1"` // why it failed; empty: it did not
}

// Policy has a service follow a metric, or go by steps when alarms say so.
type Policy struct {
	ID        string    `json:"id"` // UUID, in its ARN
	Name      string    `json:"name"`
	Tracking  Tracking  `json:"tracking,omitzero"` // where Step is nil
	CreatedAt time.Time `json:"createdAt"`
	Step      *Stepping `json:"step,omitempty" level:"1"`
}

// Tracking keeps a metric near a value, by as many tasks as that needs.
type Tracking struct {
	Target      Number `json:"target"` // more than 0
	Metric      Metric `json:"metric"`
	OutCooldown *int   `json:"outCooldown,omitempty"` // seconds
	InCooldown  *int   `json:"inCooldown,omitempty"`  // seconds
	NoScaleIn   bool   `json:"noScaleIn,omitempty"`
}

// DefaultCooldown is AWS's for services.
const DefaultCooldown = 300 * time.Second

// Cooldowns returns the times for which one scale-out, and one scale-in, keeps the next.
func (t *Tracking) Cooldowns() (out, in time.Duration) {
	return cooldown(t.OutCooldown), cooldown(t.InCooldown)
}

func cooldown(seconds *int) time.Duration {
	if seconds == nil {
		return DefaultCooldown
	}
	return time.Duration(*seconds) * time.Second
}

// ScheduledAction changes Min and Max at its times.
type ScheduledAction struct {
	ID        string    `json:"id"` // UUID, in its ARN
	Name      string    `json:"name"`
	Schedule  string    `json:"schedule"`           // see ParseSchedule
	Timezone  string    `json:"timezone,omitempty"` // of the IANA database; empty: UTC
	Start     time.Time `json:"start,omitzero"`
	End       time.Time `json:"end,omitzero"`
	Min       *int      `json:"min,omitempty"` // nil: it stays
	Max       *int      `json:"max,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Done      time.Time `json:"done"` // its times until then are: when it was put, or carried out last
}

// Number is a decimal number as text, because the state has no floating point.
type Number string

// NumberOf is the shortest text of a number.
func NumberOf(f float64) Number { return Number(strconv.FormatFloat(f, 'g', -1, 64)) }

// Float is the number, 0 when it is none.
func (n Number) Float() float64 {
	f, _ := strconv.ParseFloat(string(n), 64)
	return f
}

// Within is n, or what of Min to Max is nearest to it.
func (t *Target) Within(n int) int { return min(max(n, t.Min), t.Max) }

// Sources are the series that policies follow.
func (t *Target) Sources() (names []metric.Name) {
	for i := range t.Policies {
		if p := &t.Policies[i]; p.Step == nil {
			if name, err := p.Tracking.Metric.Source(); err == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Policy finds a policy by its name, nil when there is none.
func (t *Target) Policy(name string) *Policy {
	if i, known := slices.BinarySearchFunc(t.Policies, name, byPolicyName); known {
		return &t.Policies[i]
	}
	return nil
}

// Action finds a scheduled action by its name, nil when there is none.
func (t *Target) Action(name string) *ScheduledAction {
	if i, known := slices.BinarySearchFunc(t.Actions, name, byActionName); known {
		return &t.Actions[i]
	}
	return nil
}

func byPolicyName(p Policy, name string) int          { return strings.Compare(p.Name, name) }
func byActionName(a ScheduledAction, name string) int { return strings.Compare(a.Name, name) }

// Activity is the newest one, when it has that id; else nil.
func (t *Target) Activity(id string) *Activity {
	if n := len(t.Activities); n > 0 && t.Activities[n-1].ID == id {
		return &t.Activities[n-1]
	}
	return nil
}
