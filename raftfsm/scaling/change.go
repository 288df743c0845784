package scaling

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// Why a target is not changed.
var (
	ErrTooManyPolicies = fmt.Errorf("%w: a scalable target can have %d policies", spec.ErrLimit, MaxPolicies)
	ErrTooManyActions  = fmt.Errorf("%w: a scalable target can have %d scheduled actions", spec.ErrLimit, MaxActions)
	ErrNoCapacities    = errors.New("the first registration must have a least and a largest capacity")
	ErrRange           = errors.New("the least capacity is above the largest one")
	ErrMoved           = errors.New("the service or its target has changed since")
	ErrNoPolicy        = fmt.Errorf("%w: no such scaling policy", spec.ErrNotFound)
	ErrNoAction        = fmt.Errorf("%w: no such scheduled action", spec.ErrNotFound)
	ErrNoTarget        = fmt.Errorf("%w: the service is no scalable target", spec.ErrNotFound)
)

// Change is a change of a target; one field is set.
type Change struct {
	Register     *Registration    `json:",omitempty"` // makes a target where there is none
	Deregister   bool             `json:",omitempty"`
	PutPolicy    *Policy          `json:",omitempty"` // one of the name keeps its id
	DeletePolicy string           `json:",omitempty"`
	PutAction    *ScheduledAction `json:",omitempty"` // likewise
	DeleteAction string           `json:",omitempty"`
	Run          *Run             `json:",omitempty"`
	Scale        *Decision        `json:",omitempty"`
}

// Registration is the wanted form of a target; members that are nil stay, or are false.
type Registration struct {
	Min, Max           *int
	In, Out, Scheduled *bool // suspended
	Role               string
	Tags               []spec.Tag // of a new target
}

// Run carries out a scheduled action that is due.
type Run struct{ Action string }

// Decision is a decision of the policies. It is taken while the service has From desired tasks.
type Decision struct {
	From, To int
	Cause    string
	Added    int `json:",omitempty" level:"1"` // by the steps within one cooldown, this one included; 0: To - From
}

// Apply makes the change to a target, nil where there is none, of a service with so many desired tasks. After is nil when there is none any
// more; an activity of after with the id has changed the desired count, or has failed. Errors are those above.
func (c *Change) Apply(known *Target, fresh Target, desired int, id string, at time.Time) (after *Target, err error) {
	if known == nil && c.Register == nil {
		return nil, ErrNoTarget
	}
	if known != nil {
		fresh = *known
	}
	t := &fresh
	switch {
	case c.Register != nil:
		err = t.register(c.Register, known == nil, desired, id, at)
	case c.Deregister:
		return nil, nil
	case c.PutPolicy != nil:
		policy := *c.PutPolicy
		if was := t.Policy(policy.Name); was != nil {
			policy.ID, policy.CreatedAt = was.ID, was.CreatedAt
		}
		t.Policies, err = put(t.Policies, policy, policy.Name, byPolicyName, MaxPolicies, ErrTooManyPolicies)
	case c.DeletePolicy != "":
		t.Policies, err = remove(t.Policies, c.DeletePolicy, byPolicyName, ErrNoPolicy)
	case c.PutAction != nil:
		action := *c.PutAction
		action.Done = at
		if was := t.Action(action.Name); was != nil {
			action.ID, action.CreatedAt = was.ID, was.CreatedAt
		}
		t.Actions, err = put(t.Actions, action, action.Name, byActionName, MaxActions, ErrTooManyActions)
	case c.DeleteAction != "":
		t.Actions, err = remove(t.Actions, c.DeleteAction, byActionName, ErrNoAction)
	case c.Run != nil:
		err = t.run(c.Run.Action, desired, id, at)
	case c.Scale != nil:
		err = t.scale(c.Scale, desired, id, at)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Target) register(r *Registration, first bool, desired int, id string, at time.Time) error {
	if first {
		t.CreatedAt, t.Tags = at, r.Tags
		if r.Min == nil || r.Max == nil {
			return ErrNoCapacities
		}
	}
	for _, flag := range []struct {
		from *bool
		to   *bool
	}{{r.In, &t.Suspended.In}, {r.Out, &t.Suspended.Out}, {r.Scheduled, &t.Suspended.Scheduled}} {
		if flag.from != nil {
			*flag.to = *flag.from
		}
	}
	if r.Role != "" {
		t.Role = r.Role
	}
	return t.bound(r.Min, r.Max, "", desired, id, at)
}

// bound sets the capacities that are given, and brings the desired count between them.
func (t *Target) bound(least, most *int, by string, desired int, id string, at time.Time) error {
	lower, upper := t.Min, t.Max
	if least != nil {
		lower = *least
	}
	if most != nil {
		upper = *most
	}
	if lower > upper {
		return fmt.Errorf("%w: %d and %d", ErrRange, lower, upper)
	}
	t.Min, t.Max = lower, upper
	switch {
	case desired < t.Min:
		t.recordActivity(id, t.Min, fmt.Sprintf("minimum capacity was set to %d%s: %d -> %d", t.Min, by, desired, t.Min), at)
	case desired > t.Max:
		t.recordActivity(id, t.Max, fmt.Sprintf("maximum capacity was set to %d%s: %d -> %d", t.Max, by, desired, t.Max), at)
	}
	return nil
}

// run carries out a scheduled action. One that would leave no desired count between the capacities has failed, and this time of it is over all the
// same: the capacities were not known when it was put, and would be the same at the next attempt.
func (t *Target) run(name string, desired int, id string, at time.Time) error {
	known := t.Action(name)
	if known == nil {
		return ErrNoAction
	}
	action := *known
	action.Done = at
	t.Actions, _ = put(t.Actions, action, name, byActionName, MaxActions, nil)
	err := t.bound(action.Min, action.Max, " by scheduled action "+name, desired, id, at)
	if errors.Is(err, ErrRange) {
		t.record(Activity{ID: id, At: at, To: desired, Cause: "scheduled action " + name + " was due", Failed: err.Error()})
		return nil
	}
	return err
}

func (t *Target) scale(m *Decision, desired int, id string, at time.Time) error {
	if desired != m.From || m.To != t.Within(m.To) || m.To == m.From || m.To > m.From && t.Suspended.Out || m.To < m.From && t.Suspended.In {
		return ErrMoved
	}
	if m.To > m.From {
		t.Out = Step{at, max(m.Added, m.To-m.From)}
	} else {
		t.In = Step{at, m.From - m.To}
	}
	t.recordActivity(id, m.To, m.Cause, at)
	return nil
}

func (t *Target) recordActivity(id string, to int, cause string, at time.Time) {
	t.record(Activity{ID: id, At: at, To: to, Cause: cause})
}

func (t *Target) record(a Activity) {
	all := append(slices.Clone(t.Activities), a)
	t.Activities = all[max(0, len(all)-MaxActivities):]
}

// put is the list, by name, with one of its items replaced or added.
func put[T any](all []T, item T, name string, by func(T, string) int, most int, tooMany error) ([]T, error) {
	i, known := slices.BinarySearchFunc(all, name, by)
	all = slices.Clone(all)
	switch {
	case known:
		all[i] = item
	case len(all) >= most:
		return nil, tooMany
	default:
		all = slices.Insert(all, i, item)
	}
	return all, nil
}

func remove[T any](all []T, name string, by func(T, string) int, none error) ([]T, error) {
	i, known := slices.BinarySearchFunc(all, name, by)
	if !known {
		return all, none
	}
	return slices.Delete(slices.Clone(all), i, i+1), nil
}
