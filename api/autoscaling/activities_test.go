package autoscaling

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/scaling"
)

// A scheduled action that cannot be carried out is an activity that has failed.
func TestAFailedActivityIsDescribed(t *testing.T) {
	f := newFixture(t)
	f.must(t, "RegisterScalableTarget", of("default/web", bounds))
	f.must(t, "PutScheduledAction", of("default/web", `,"ScheduledActionName":"day","Schedule":"rate(1 hour)","ScalableTargetAction":{"MinCapacity":10}`))
	run := scaling.ChangeTarget{Cluster: "default", Service: "web", Change: scaling.Change{Run: &scaling.Run{Action: "day"}}, ID: "run", At: epoch}
	if _, err := f.Propose(t.Context(), raftfsm.Wrap(run)); err != nil {
		t.Fatal(err)
	}
	got := f.must(t, "DescribeScalingActivities", `{"ServiceNamespace":"ecs"}`)
	if want := `"StatusCode":"Failed","StatusMessage":"Failed to set the capacities: the least capacity is above the largest one: 10 and 4."`; !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
}
