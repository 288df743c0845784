package many

import (
	"strings"
	"testing"
)

// TestHostsLeaveUntilOneIsLeft takes away a follower and then the leader, each with one command on its own machine; what
// is left goes on.
func TestHostsLeaveUntilOneIsLeft(t *testing.T) {
	p := up(t, []string{"--gpus", "sim:1xt4"}, []string{"--gpus", "sim:1xt4"}, []string{"--gpus", "sim:1xt4"})
	p.waitConverged(t)
	p.define(t, "after", 1, onceScript)
	first, last, follower := p.Hosts()[0], p.Hosts()[1], p.Hosts()[2]
	for _, leaving := range []interface {
		Pinion(args ...string) (string, error)
	}{follower, first} {
		if out, err := leaving.Pinion("leave", "--force"); err != nil || !strings.Contains(out, "has left") {
			t.Fatalf("leave: %q, %v", out, err)
		}
	}
	var answer tasks
	eventually(t, "the host that is left takes tasks", func() bool { // once its agent is in touch with its own server
		p.mustCall(t, last, "RunTask", namedRunTask("after", "after"), &answer)
		return len(answer.Tasks) == 1
	})
	p.wait(t, last, answer.Tasks[0].id(), "STOPPED")
	if out, err := last.Pinion("hosts"); err != nil || strings.Count(out, "\n") != 2 {
		t.Errorf("hosts: %q, %v", out, err)
	}
}
