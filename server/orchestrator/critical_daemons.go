package orchestrator

import (
	"cmp"
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// clustersWithDaemons are the clusters that have daemons which are not being deleted: the tasks of others wait for none.
func clustersWithDaemons(view *raftfsm.View) map[string]bool {
	clusters := map[string]bool{}
	for _, s := range view.Services("") {
		if s.IsDaemon() && s.Status == service.Active {
			clusters[s.Cluster] = true
		}
	}
	return clusters
}

// stopsWithoutDaemons are the stops of the tasks of a host that ran when a critical daemon failed there: its task ended by itself, or was unhealthy.
// Tasks of daemons stay. What ended before is still on record, so the next leader does the same.
func stopsWithoutDaemons(view *raftfsm.View, host *spec.Host) (stops []raftfsm.StopTask) {
	tasks := view.TasksOn(host.ID)
	failed, last := "", time.Time{} // the title of the daemon that failed last
	for _, t := range tasks {
		if at, title := failedDaemon(view, t); title != "" && at.After(last) {
			failed, last = title, at
		}
	}
	if failed == "" {
		return nil
	}
	for _, t := range tasks {
		if ranWith(view, t, last) {
			stops = append(stops, raftfsm.StopTask{ID: t.ID, Code: leaveCode(t), Reason: fmt.Sprintf("The %s, which is critical, has failed on host %s", failed, host.Name)})
		}
	}
	return stops
}

// failedDaemon is when a critical daemon failed as this task of it, and its title; empty when it has not.
func failedDaemon(view *raftfsm.View, t *spec.Task) (at time.Time, title string) {
	if t.Service == nil || t.Times.Started.IsZero() || !view.ServiceRevision(t.Service.Deployment).IsCritical() {
		return at, ""
	}
	s := view.ServiceByID(t.Service.ID)
	if s == nil || s.Status != service.Active || !t.Service.Unhealthy && t.StopCode != spec.StopEssentialExited {
		return at, ""
	}
	at = cmp.Or(t.Times.ExecutionStopped, t.Times.Stopped, t.Times.Stopping)
	if t.Service.Unhealthy { // it failed when it was told to stop, and ends later
		at = cmp.Or(t.Times.Stopping, at)
	}
	if at.IsZero() {
		return at, ""
	}
	return at, s.Title()
}

// ranWith reports whether a task is to go because it ran at the time when a daemon of its host failed.
func ranWith(view *raftfsm.View, t *spec.Task, at time.Time) bool {
	if t.DesiredStatus == spec.Stopped || t.Times.Started.IsZero() || t.Times.Started.After(at) {
		return false
	}
	if t.Service == nil {
		return true
	}
	s := view.ServiceByID(t.Service.ID)
	return s == nil || !s.IsDaemon()
}
