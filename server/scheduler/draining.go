package scheduler

import (
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// waitsForActivation is what tasks of a cluster wait for when all of its hosts are draining; empty when one is not.
func waitsForActivation(view *raftfsm.View, cluster string) string {
	hosts := view.Hosts(cluster)
	for _, host := range hosts {
		if host.Status != spec.HostDraining {
			return ""
		}
	}
	if len(hosts) == 0 {
		return ""
	}
	name := hostName(view, hosts[0].ID)
	if len(hosts) == 1 {
		return fmt.Sprintf("host %s, which is draining (pinion host activate %s)", name, name)
	}
	return fmt.Sprintf("a host: all %d are draining (pinion host activate %s)", len(hosts), name)
}

// drainSummary says when a task is stopped because its host is draining; nothing when it is not stopped for that.
func drainSummary(host *spec.Host) string {
	switch {
	case host == nil || host.Status != spec.HostDraining:
		return ""
	case host.Drain == nil:
		return " The host is draining: nothing new is placed there, and the task may run to its end."
	}
	at := host.Drain.At.UTC().Format(time.RFC3339)
	if host.Drain.Kill {
		return " The host is draining: the task has ended by " + at + ", and is asked to stop as long before as it may take for that."
	}
	return " The host is draining: the task is stopped at " + at + "."
}
