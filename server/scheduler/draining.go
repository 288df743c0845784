package scheduler

import (
	"cmp"
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/gpufault"
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

// faultSummary says what becomes of a task whose GPU has failed; nothing when none has.
func faultSummary(view *raftfsm.View, t *spec.Task) string {
	host, policy := view.Host(t.HostID), cmp.Or(view.Cluster(t.Cluster).Rules().GPUFaults, gpufault.End)
	if host == nil {
		return ""
	}
	d, failed := gpufault.Find(host.GPUs, t.GPUs())
	if !failed {
		return ""
	}
	then := "The task runs on until it ends, unless its results are lost"
	switch reason, from := policy.MovesFrom(host.GPUs, t.GPUs(), t.Times.Started); {
	case policy == gpufault.Keep:
		then = "The task runs on until it ends"
	case reason != "" && t.Service != nil:
		then = "Its service replaces the task"
	case reason != "":
		then = "The task is stopped at " + from.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf(" Its GPU %s is %s.%s %s: the setting %s of its cluster is %s.", d.UUID, d.Health, asSentence(d.Problem), then, gpufault.Setting, policy)
}
