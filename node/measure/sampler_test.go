package measure

import (
	"slices"
	"testing"
	"time"

	"pinion/raftfsm/metric"
)

// busy is the utilization of GPUs; a GPU that is not in it is not known.
type busy map[string]float64

func (b busy) Utilization(uuid string, after time.Time) (float64, bool) {
	percent, known := b[uuid]
	return percent, known && time.Since(after) <= measureInterval
}

// A task is as busy as its GPUs are on average. One of which not all are known is not measured.
func TestHowBusyGPUsAre(t *testing.T) {
	r := &rig{cpu: map[string]time.Duration{"two": 0}, gpus: busy{"a": 90, "b": 30, "idle": 0}, wanted: metric.Selection{Tasks: []metric.SelectedTask{
		{ID: "two", GPUs: []string{"a", "b"}}, {ID: "idle", GPUs: []string{"idle"}}, {ID: "unknown", GPUs: []string{"a", "c"}}, {ID: "none"},
	}}}
	r.during(t, func() {
		pass(45 * time.Second)
		want := []metric.Task{{TaskID: "idle", Name: metric.GPU}, {TaskID: "two", Name: metric.CPU}, {TaskID: "two", Name: metric.GPU, Value: 60}, {TaskID: "two", Name: metric.Memory, Value: 3}}
		if got := r.last().Tasks; !slices.Equal(got, want) {
			t.Errorf("%+v", got)
		}
		delete(r.gpus, "a")
		known := len(r.reports)
		pass(time.Minute)
		if got := r.last().Tasks; slices.ContainsFunc(got, func(m metric.Task) bool { return m.TaskID == "two" && m.Name == metric.GPU }) || len(got) < 2 || len(r.reports) < known+5 {
			t.Errorf("%+v, %d reports", got, len(r.reports)-known)
		}
	})
}
