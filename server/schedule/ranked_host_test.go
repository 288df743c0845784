package schedule

import (
	"testing"

	"pinion/raftfsm/spec"
)

// used takes n GPUs, and the CPU units, of a host.
func used(h Host, gpus int, cpu int64) Host {
	h.Free.Take(&spec.Task{CPU: cpu, Containers: []spec.Container{{GPUs: h.Free.GPUs[:gpus]}}})
	return h
}

func TestTheBestHostIsChosen(t *testing.T) {
	cases := []struct {
		name    string
		hosts   []Host
		request Request
		want    []string
	}{
		{"GPU tasks fill up a host that is used", []Host{host("a", 8), used(host("b", 8), 6, 0)}, request(1, 2), []string{"b"}},
		{"and leave whole hosts to tasks that need them", []Host{host("a", 8), host("b", 2), host("c", 4)}, request(3, 2), []string{"b", "c", "c"}},
		{"a task of 8 finds its 8 after tasks of 1", []Host{host("a", 8), host("b", 8)}, request(8, 1),
			[]string{"a", "a", "a", "a", "a", "a", "a", "a"}},
		{"among equals the fuller machine", []Host{host("a", 2), used(host("b", 2), 0, 1000)}, request(1, 1), []string{"b"}},
		{"then the first by id", []Host{host("b", 2), host("a", 2)}, request(1, 1), []string{"a"}},
		{"tasks without GPUs keep away from free ones", []Host{host("a", 8), used(host("b", 8), 8, 0)}, request(1, 0), []string{"b"}},
		{"even more from hosts that get theirs back", []Host{used(host("a", 8), 8, 0), host("b", 0)}, request(1, 0), []string{"b"}},
		{"but run there when nothing else is left", []Host{host("a", 8), used(host("b", 0), 0, 4000)}, request(1, 0), []string{"a"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { wantPlaces(t, plan(c.hosts, c.request), c.want...) })
	}
}
