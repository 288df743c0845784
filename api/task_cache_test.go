package api

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// What a host remembers of tasks is never older than what there is: after each change it answers as one does that has just
// started, whatever was asked before.
func TestATaskIsNeverShownAsItWasBefore(t *testing.T) {
	b := newFixture(t)
	b.config.Shared = NewShared()
	b.must(t, "RegisterTaskDefinition", oneGPU)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu","tags":[{"key":"a","value":"1"}]}`)
	arn := "arn:aws:ecs:us-east-1:" + spec.AccountID + ":task/default/" + firstTask
	host := newHost(hostID, "gpu-1", 4)
	host.Attributes["ecs.availability-zone"] = "rack-2"
	before := map[string]string{}
	for _, change := range []struct {
		what string
		make func()
	}{
		{"it was started", func() {}},
		{"the task runs", func() { b.reportRunning(t, firstTask) }},
		{"its host is silent", func() { b.disconnected[hostID] = true }},
		{"its host is back", func() { delete(b.disconnected, hostID) }},
		{"its host is elsewhere", func() { b.mustApply(t, raftfsm.PutHost{Host: host}) }},
		{"another tag", func() { b.must(t, "TagResource", `{"resourceArn":"`+arn+`","tags":[{"key":"a","value":"2"}]}`) }},
		{"the region", func() { b.config.Region = "eu-central-1" }},
		{"the task ends", func() { b.reportExited(t, firstTask, 1) }},
	} {
		change.make()
		for _, include := range []string{`[]`, `["TAGS"]`} {
			question := `{"tasks":["` + firstTask + `"],"include":` + include + `}`
			got := b.must(t, "DescribeTasks", question).Body.String()
			if again := b.must(t, "DescribeTasks", question).Body.String(); again != got {
				t.Errorf("%s: the second answer is another one:\n%s\n%s", change.what, got, again)
			}
			started := *b
			started.config.Shared = nil
			if want := started.must(t, "DescribeTasks", question).Body.String(); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", change.what, got, want)
			}
			if got == before[include] && include != `[]` { // without tags another one is only seen by its version
				t.Errorf("%s: nothing is different: %s", change.what, got)
			}
			before[include] = got
		}
	}
}
