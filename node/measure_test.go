package node

import (
	"testing"
	"time"

	"pinion/raftfsm/metric"
)

type fakeMeter map[string]usage

func (m fakeMeter) Usage(id string) (time.Duration, int64, bool) {
	u, ok := m[id]
	return u.cpu, 3 << 20, ok
}

// The use of the CPU is that since the usage before: a task that is new, or has begun again, has none yet.
func TestWhatTasksUse(t *testing.T) {
	at := time.Unix(1000, 0)
	meter := fakeMeter{"a": {cpu: 4 * time.Second}, "new": {cpu: time.Second}, "again": {cpu: time.Second}, "unasked": {}}
	before := map[string]usage{"a": {at.Add(-2 * time.Second), 3 * time.Second}, "again": {at.Add(-2 * time.Second), 9 * time.Second}, "gone": {at, 1}}
	measured, after := measure(meter, []string{"a", "new", "again", "elsewhere"}, before, at)
	got := map[metric.Task]bool{}
	for _, m := range measured {
		got[m] = true
	}
	for _, want := range []metric.Task{{TaskID: "a", Name: metric.CPU, Value: 512}, {TaskID: "a", Name: metric.Memory, Value: 3}, {TaskID: "new", Name: metric.Memory, Value: 3}, {TaskID: "again", Name: metric.Memory, Value: 3}} {
		if !got[want] {
			t.Errorf("%+v is not there: %+v", want, measured)
		}
	}
	if len(measured) != 4 || len(after) != 3 || after["new"] != (usage{at, time.Second}) {
		t.Errorf("%+v, %+v", measured, after)
	}
}
