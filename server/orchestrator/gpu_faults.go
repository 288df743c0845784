package orchestrator

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/gpufault"
	"pinion/raftfsm/spec"
)

// movesFromGPUs are the stops of tasks that have to leave GPUs of a host which have failed. Those of services leave when others have replaced them: see
// package rollout.
func movesFromGPUs(view *raftfsm.View, host *spec.Host, now time.Time) (stops []raftfsm.StopTask) {
	if !slices.ContainsFunc(host.GPUs.Devices, gpufault.Failed) {
		return nil // as of nearly all
	}
	for _, t := range view.TasksOn(host.ID) {
		if t.Service != nil || t.DesiredStatus == spec.Stopped || t.LastStatus == spec.Stopped {
			continue
		}
		policy := view.Cluster(t.Cluster).Rules().GPUFaults
		if why, from := policy.MovesFrom(host.GPUs, t.GPUs(), t.Times.Started); why != "" && !now.Before(from) {
			stops = append(stops, raftfsm.StopTask{ID: t.ID, Code: leaveCode(t), Reason: spec.GPUFault + why})
		}
	}
	return stops
}
