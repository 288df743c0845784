package scheduler

import (
	"testing"

	"pinion/raftfsm/spec"
)

// A run that no host could ever run waits for one and says so at once; with its tag it fails, and nothing of it is recorded.
func TestARunThatNoHostCouldEverRunSaysSoAtOnce(t *testing.T) {
	s := newTestScheduler(t, 2)
	run := func(gpus, count int, tags ...spec.Tag) spec.RunResult {
		t.Helper()
		r := s.request(gpus)
		r.CapacityProvider, r.Count, r.Tags = "PINION", count, tags
		result, err := s.Run(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	fails := spec.Tag{Key: spec.TagWaitForHost, Value: "false"}
	if got := run(2, 1); got.Infeasible != nil || len(got.Tasks) != 1 {
		t.Errorf("what fits: %+v", got)
	}
	if got := run(2, 3, fails); got.Infeasible != nil || len(got.Tasks) != 3 {
		t.Errorf("what fits one after another: %+v", got)
	}
	if got := run(3, 2); got.Infeasible == nil || got.Infeasible.Reason != spec.ReasonGPU || len(got.Tasks) != 2 {
		t.Errorf("what waits for a host: %+v", got)
	}
	before := len(s.node.State().View().Tasks(""))
	if got := run(3, 2, fails); len(got.Failures) != 2 || got.Failures[0].Reason != spec.ReasonGPU || got.Failures[0].Detail == "" || len(got.Tasks) != 0 {
		t.Errorf("what is not to wait for a host: %+v", got)
	}
	if got := run(1, 3, fails, spec.Tag{Key: spec.TagGang, Value: "true"}); len(got.Failures) != 3 {
		t.Errorf("a gang that is too large: %+v", got)
	}
	if after := len(s.node.State().View().Tasks("")); after != before {
		t.Errorf("%d tasks were recorded", after-before)
	}
}
