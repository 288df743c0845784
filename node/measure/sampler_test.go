package measure

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/metric"
)

// busy is how busy GPUs are; one that is not in it cannot say, and one below 0 hangs.
type busy map[string]float64

func (b busy) Utilization(ctx context.Context, uuid string) (float64, error) {
	percent, known := b[uuid]
	if percent < 0 {
		<-ctx.Done()
	}
	if !known || percent < 0 {
		return 0, errors.New("not known")
	}
	return percent, nil
}

// A task is as busy as its GPUs are on average. One of which not all are known is not measured, and a driver that hangs keeps no other measure.
func TestHowBusyGPUsAre(t *testing.T) {
	r := &rig{cpu: map[string]time.Duration{"two": 0}, gpus: busy{"a": 90, "b": 30, "idle": 0}, wanted: metric.Wanted{Tasks: []metric.WantedTask{
		{ID: "two", GPUs: []string{"a", "b"}}, {ID: "idle", GPUs: []string{"idle"}}, {ID: "unknown", GPUs: []string{"a", "c"}}, {ID: "none"},
	}}}
	r.during(t, func() {
		pass(45 * time.Second)
		want := []metric.Task{{TaskID: "idle", Name: metric.GPU}, {TaskID: "two", Name: metric.CPU}, {TaskID: "two", Name: metric.GPU, Value: 60}, {TaskID: "two", Name: metric.Memory, Value: 3}}
		if got := r.last().Tasks; !slices.Equal(got, want) {
			t.Errorf("%+v", got)
		}
		r.gpus["a"] = -1
		known := len(r.reports)
		pass(time.Minute)
		if got := r.last().Tasks; slices.ContainsFunc(got, func(m metric.Task) bool { return m.TaskID == "two" && m.Name == metric.GPU }) || len(got) < 2 || len(r.reports) < known+5 {
			t.Errorf("%+v, %d reports", got, len(r.reports)-known)
		}
	})
}
