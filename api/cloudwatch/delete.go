package cloudwatch

import (
	"context"
	"errors"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/spec"
)

type deleteAlarmsInput struct {
	AlarmNames []string `json:"AlarmNames"`
}

// deleteAlarms deletes alarms, or none of them.
func (r *Request) deleteAlarms(ctx context.Context, in *deleteAlarmsInput) (*emptyOutput, error) {
	if n := len(in.AlarmNames); n == 0 || n > maxNames {
		return nil, errInvalid("AlarmNames must be 1 to %d names, not %d", maxNames, n)
	}
	for _, name := range in.AlarmNames {
		a, err := r.find(name)
		if err == nil {
			err = r.mayChange(a)
		}
		if err != nil {
			return nil, err
		}
	}
	_, err := r.Store.Propose(ctx, raftfsm.Wrap(alarm.Delete{Names: in.AlarmNames}))
	if errors.Is(err, spec.ErrNotFound) { // since it was looked up
		return nil, wire.Errorf(notFound, "%v", err)
	}
	return &emptyOutput{}, err
}

// find is an alarm that the caller may know of.
func (r *Request) find(name string) (*alarm.Alarm, error) {
	if a := alarm.Find(r.View, name); a != nil && r.sees(a) {
		return a, nil
	}
	return nil, wire.Errorf(notFound, "There is no alarm %.300q", name)
}
