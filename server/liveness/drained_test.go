package liveness

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm"
)

// A target is drained when every host says so that is heard of; a lost one has nothing in flight.
func TestATargetIsDrainedWhenEveryHostSaysSo(t *testing.T) {
	p := newRecordedPool(t, 3)
	say := func(host int, targets ...string) { p.monitor.RecordDrained(hostID(host), targets) }
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"nobody", func() {}, nil},
		{"one of three", func() { say(0, "a", "b") }, nil},
		{"two of three", func() { say(1, "b", "c") }, nil},
		{"all", func() { say(2, "c", "b") }, []string{"b"}},
		{"one takes it back by knowing of it no more", func() { say(2, "c") }, nil},
		{"that one is lost", func() {
			if _, err := p.Propose(t.Context(), raftfsm.MarkHostLost{ID: hostID(2), At: p.now}); err != nil {
				t.Fatal(err)
			}
		}, []string{"b"}},
	} {
		if step.do(); !slices.Equal(p.monitor.Drained(), step.want) {
			t.Errorf("%s: %v, want %v", step.name, p.monitor.Drained(), step.want)
		}
	}
}

// What root of a host makes up takes little of the leader's memory.
func TestLittleIsKeptOfWhatAHostSaysIsDrained(t *testing.T) {
	p := newRecordedPool(t, 1)
	long := make([]string, maxDrained)
	for i := range long {
		long[i] = fmt.Sprintf("%08d%s", i, strings.Repeat("x", 8<<10))
	}
	p.monitor.RecordDrained(hostID(0), append([]string{"a"}, long...))
	kept := p.monitor.Drained()
	if bytes := len(strings.Join(kept, "")); bytes > maxDrainedBytes {
		t.Errorf("%d bytes are kept", bytes)
	}
	if !slices.Contains(kept, "a") {
		t.Error("what came first is not kept")
	}
}
