package server

import (
	"fmt"

	"pinion/raftfsm"
	"pinion/server/schedule"
)

// lack is what the hosts of a cluster lack for tasks that none of them could ever run.
type lack struct {
	raftfsm.Failure
	words string // what such tasks wait for
}

// lackKey is what tasks have in common that lack the same.
type lackKey struct{ cluster, shape string }

// mostLacks is of how many shapes it is remembered what they lack.
const mostLacks = 10_000

// lack is what a task lacks, or its whole gang; nil when hosts could run it. Many tasks ask for the same, so it is found out
// once for each shape and remembered until a host changes.
func (w *waiting) lack(view *raftfsm.View, t *raftfsm.Task, definition *raftfsm.TaskDefinition) *lack {
	item := w.queue.Item(t.ID)
	if item == nil {
		item = itemOf(view, unitOf(view, t), definition)
	}
	of := lackKey{item.Cluster, item.Shape}
	if known, is := w.lacks[of]; is {
		return known
	}
	request := requestFor(t, definition)
	request.Run.Count = len(item.Tasks)
	var found *lack
	if failure, impossible := schedule.Impossible(view.Hosts(t.Cluster), request); impossible {
		found = &lack{failure, waitsForHost(view, failure)}
	}
	if len(w.lacks) >= mostLacks {
		clear(w.lacks)
	}
	w.lacks[of] = found
	return found
}

// waitsForHost is what a task waits for that no host could ever run.
func waitsForHost(view *raftfsm.View, f raftfsm.Failure) string {
	switch {
	case f.Reason == raftfsm.ReasonMissing:
		return "a host: the cluster has none"
	case f.HostID == "":
		return "another host: none could ever run it (" + f.Detail + ")"
	}
	return fmt.Sprintf("another host: none could ever run it (%s is nearest: %s)", hostName(view, f.HostID), f.Detail)
}
