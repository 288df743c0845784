package schedule

import (
	"testing"

	"pinion/raftfsm/spec"
)

// The port of a listener is taken on every host, on those that come later too, until the listener is gone.
func TestNoTaskGetsThePortOfAListener(t *testing.T) {
	f := NewHostSet()
	put := func(id string) {
		f.PutHost(&spec.Host{ID: id, Cluster: "default", Status: spec.HostActive, CPU: 1024, MemoryMiB: 1024, Ports: []int{22}}, true)
	}
	put("before")
	f.SetListenerPorts([]int{80, 443})
	put("after")
	put("before")
	for _, host := range []string{"before", "after"} {
		if taken := f.hosts[host].Free.Ports; !taken[80] || !taken[443] || !taken[22] {
			t.Errorf("%s: %v are taken", host, taken)
		}
	}
	f.SetListenerPorts([]int{443})
	if taken := f.hosts["before"].Free.Ports; taken[80] || !taken[443] {
		t.Errorf("%v are taken", taken)
	}
}
