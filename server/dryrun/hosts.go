package dryrun

import (
	"context"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
	"pinion/server/id"
	"pinion/server/schedule"
)

// place gives tasks of the service that wait their places, in the order of the queue.
func (r *run) place(ctx context.Context) (acted bool, err error) {
	view := r.state.View()
	var hosts *schedule.HostSet
	for t := range view.QueuedTasks(r.service().Cluster) {
		definition := view.Definition(t.Definition)
		if t.Service == nil || t.Service.ID != r.id || t.Held() || definition == nil {
			continue
		}
		if hosts == nil {
			hosts = schedule.HostsOf(view, t.Cluster, r.schedulable)
		}
		request := schedule.RequestFor(view, t, definition)
		request.Waiting, request.At, request.Seed = []*spec.Task{t}, r.now, id.NewSeed()
		decision := hosts.Plan([]schedule.Request{request})[0]
		if len(decision.Tasks) == 0 {
			continue
		}
		place := schedule.PlacementOf(t, decision.Tasks[0])
		answer, err := r.Propose(ctx, raftfsm.PlaceTasks{Groups: [][]spec.Placement{{place}}})
		if err != nil {
			return false, err
		}
		if refused, _ := answer.([]string); len(refused) == 1 && refused[0] == "" {
			r.move(service.MoveStart, r.state.View().Task(t.ID))
			acted = true
		}
	}
	return acted, nil
}

// report has the hosts carry their tasks of the service on: those that are to stop stop, and the others run and are healthy.
func (r *run) report(ctx context.Context) (acted bool, err error) {
	for _, t := range r.state.View().ServiceTasks(r.id) {
		if t.HostID == "" || t.LastStatus == spec.Stopped {
			continue
		}
		report := r.running(t)
		if t.DesiredStatus == spec.Stopped {
			report = stopped(t)
			report.Times.Stopped = r.now
		}
		before := r.state.View().Index()
		if _, err := r.Propose(ctx, raftfsm.ReportTasks{HostID: t.HostID, Reports: []spec.TaskReport{report}}); err != nil {
			return false, err
		}
		acted = acted || r.state.View().Index() > before
	}
	return acted, nil
}

// running is the report of a task that runs. What its host has found already stays.
func (r *run) running(t *spec.Task) spec.TaskReport {
	report := spec.TaskReport{TaskID: t.ID, Status: spec.Running}
	if t.Times.Started.IsZero() {
		report.Times.Started = r.now
	}
	for _, c := range t.Containers {
		has := spec.ContainerReport{Name: c.Name, Status: spec.Running, Health: c.Health}
		if c.Health != spec.Unhealthy && hasHealthCheck(r.state.View().Definition(t.Definition), c.Name) {
			has.Health = spec.Healthy
		}
		report.Containers = append(report.Containers, has)
	}
	if revision := r.state.View().ServiceRevision(t.Service.Deployment); revision != nil {
		for _, b := range revision.Targets() {
			if traffic.FindHealth(t.Targets, b.Group, b.Container, b.Port) == nil {
				report.Targets = append(report.Targets, traffic.TargetHealth{Group: b.Group, Container: b.Container, Port: b.Port, State: traffic.Healthy, Since: r.now})
			}
		}
	}
	return report
}

func stopped(t *spec.Task) spec.TaskReport {
	report := spec.TaskReport{TaskID: t.ID, Status: spec.Stopped}
	for _, c := range t.Containers {
		report.Containers = append(report.Containers, spec.ContainerReport{Name: c.Name, Status: spec.Stopped, ExitCode: new(int)})
	}
	return report
}

func hasHealthCheck(d *spec.TaskDefinition, container string) bool {
	if d == nil {
		return false
	}
	for _, c := range d.Containers {
		if c.Name == container {
			return c.HealthCheck != nil
		}
	}
	return false
}
