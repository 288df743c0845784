package alarm

import (
	"fmt"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
)

// Put creates an alarm, or configures the one of the name anew, which keeps its state and its tags. ErrTooMany; ErrOthers. Answer: *Alarm.
type Put struct {
	Alarm Alarm
	// Over is the time at which the alarm of the name was configured that may be of another service: whoever puts this one may change that one.
	Over time.Time `json:",omitzero" level:"1"`
}

// ErrOthers refuses to configure an alarm that became one of another service meanwhile.
var ErrOthers = fmt.Errorf("%w: the alarm of the name is of another service", spec.ErrInUse)

// Apply carries the command out.
func (c Put) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Alarm.Name)
	if known != nil && (known.Cluster != c.Alarm.Cluster || known.Service != c.Alarm.Service) && !known.ConfiguredAt.Equal(c.Over) {
		return nil, fmt.Errorf("alarm %q: %w", c.Alarm.Name, ErrOthers)
	}
	if known != nil {
		c.Alarm.State, c.Alarm.Tags = known.State, known.Tags
	} else if byName.Len(tx) >= Max {
		return nil, fmt.Errorf("alarm %q: %w", c.Alarm.Name, ErrTooMany)
	}
	tx.Put(&c.Alarm)
	return &c.Alarm, nil
}

// Delete deletes alarms, or none of them. spec.ErrNotFound. Answer: nil.
type Delete struct{ Names []string }

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	var known []*Alarm
	for _, name := range c.Names {
		a := Find(tx, name)
		if a == nil {
			return nil, fmt.Errorf("alarm %q: %w", name, spec.ErrNotFound)
		}
		known = append(known, a)
	}
	for _, a := range known {
		if Find(tx, a.Name) != nil { // named twice
			tx.Remove(a)
		}
	}
	return nil, nil
}

// SetState records the state of an alarm that was found by its configuration of a time. spec.ErrNotFound when there is none, or it was
// configured anew. Answer: *Alarm.
type SetState struct {
	Name         string
	ConfiguredAt time.Time
	State        State
}

// Apply carries the command out.
func (c SetState) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Name)
	if known == nil || !known.ConfiguredAt.Equal(c.ConfiguredAt) {
		return nil, fmt.Errorf("alarm %q of %v: %w", c.Name, c.ConfiguredAt, spec.ErrNotFound)
	}
	changed := *known
	changed.State = c.State
	tx.Put(&changed)
	return &changed, nil
}
