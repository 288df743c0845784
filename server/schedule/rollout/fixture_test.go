package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// tester is what a pool needs of testing.T and rapid.T.
type tester interface {
	Helper()
	Fatalf(string, ...any)
}

// pool is a real state, with simulated hosts of GPUs, a queue that places tasks in their order, and a reconciler without memory. Its
// definitions, of one GPU each: good:N works, broken:N cannot start, short:N ends after a moment, sick:N runs and its health check fails,
// checked:N passes it.
type pool struct {
	*raftfsm.State
	t     tester
	index uint64
	now   time.Time
	made  int
	name  string    // of the service
	wake  time.Time // as the last step had it
	steps int       // entries of the reconciler
	zones []string  // of the hosts, in turn; empty: they have none
}

func newPool(t tester, hosts, gpus int) *pool {
	p := &pool{State: raftfsm.NewState(), t: t, now: epoch, name: "web"}
	p.do(raftfsm.CreatePool{Pool: spec.Pool{ID: "pool", CreatedAt: epoch}})
	for i := range hosts {
		p.putHost(i, gpus)
	}
	for _, family := range []string{"good", "broken", "short", "sick", "checked", "daemon/good", "daemon/broken", "daemon/short", "daemon/checked"} {
		for range 2 {
			main := spec.ContainerDefinition{Name: "main", Image: "busybox", Memory: 1, ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: "1"}}}
			if isChecked(family) {
				main.HealthCheck = &spec.HealthCheck{Command: []string{"CMD", "true"}}
			}
			p.do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: family, RegisteredAt: epoch, Containers: []spec.ContainerDefinition{main}}})
		}
	}
	return p
}

func isChecked(definition string) bool {
	family := strings.TrimPrefix(definition, spec.DaemonPrefix)
	return strings.HasPrefix(family, "sick") || strings.HasPrefix(family, "checked")
}

func (p *pool) putHost(i, gpus int) {
	host := spec.Host{ID: fmt.Sprintf("%032x", i), Name: fmt.Sprint("h", i), Cluster: spec.DefaultCluster, Address: "h:7400", CPU: 99999, MemoryMiB: 99999, RegisteredAt: epoch}
	if len(p.zones) > 0 {
		host.Attributes = map[string]string{spec.AttributeZone: p.zones[i%len(p.zones)]}
	}
	for g := range gpus {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: fmt.Sprintf("%d-%d", i, g), Index: g, Health: gpu.Healthy})
	}
	p.do(raftfsm.PutHost{Host: host})
}

func (p *pool) do(c raftfsm.Command) any {
	p.t.Helper()
	p.index++
	answer, err := p.Apply(p.index, c)
	if err != nil {
		p.t.Fatalf("%T: %v", c, err)
	}
	return answer
}

func (p *pool) newID() string { p.made++; return fmt.Sprintf("%032x", p.made) }

// create records the service of a definition. Its tasks without a health check are healthy after 10 s.
func (p *pool) create(s service.Service, definition string) {
	s.ID, s.Cluster, s.Name, s.CreatedAt = "svc", spec.DefaultCluster, p.name, p.now
	if s.Strategy == "" {
		s.Strategy = service.Replica
	}
	s.Tags = append(s.Tags, spec.Tag{Key: service.TagHealthyAfter, Value: "10s"})
	revision, rollout := p.revision(definition)
	p.do(raftfsm.CreateService{Service: s, Revision: *revision, Rollout: *rollout})
}

func (p *pool) revision(definition string) (*service.Revision, *service.Rollout) {
	id := fmt.Sprintf("%019d", p.index)
	return &service.Revision{ID: id, Definition: definition, CreatedAt: p.now}, &service.Rollout{ID: id, CreatedAt: p.now}
}

func (p *pool) deploy(definition string) {
	revision, rollout := p.revision(definition)
	p.update(service.Change{Revision: revision, Rollout: rollout})
}

func (p *pool) scale(desired int) { p.update(service.Change{Desired: &desired}) }

func (p *pool) update(c service.Change) {
	p.do(raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: p.name, Change: c, At: p.now})
}

func (p *pool) web() *service.Service { return p.View().Service(spec.DefaultCluster, p.name) }

// rollout is that of the PRIMARY deployment.
func (p *pool) rollout() *service.Rollout { return p.View().ServiceRollout(p.web().Primary().Rollout) }

// live lists the tasks of the service that were not asked to stop.
func (p *pool) live() []*spec.Task {
	return slices.DeleteFunc(p.View().ServiceTasks("svc"), func(t *spec.Task) bool { return t.DesiredStatus == spec.Stopped })
}

// healthy lists those that are, by a rule of the test's own.
func (p *pool) healthy() (all []*spec.Task) {
	for _, t := range p.live() {
		if p.isHealthy(t) {
			all = append(all, t)
		}
	}
	return all
}

func (p *pool) isHealthy(t *spec.Task) bool {
	checked := isChecked(t.Definition)
	return t.LastStatus == spec.Running && (checked && t.Containers[0].Health == spec.Healthy || !checked && p.now.Sub(t.Times.Started) >= 10*time.Second)
}

// run lets seconds pass: the queue and the hosts do what they do, and the reconciler looks after each.
func (p *pool) run(seconds int) {
	p.t.Helper()
	for range seconds {
		p.reconcile()
		p.place()
		p.report()
		p.now = p.now.Add(time.Second)
	}
	p.reconcile()
}

func (p *pool) facts() Facts {
	f := Facts{Now: p.now, NewID: p.newID, Infeasible: func(*spec.Task) string { return "" }, NoPlace: func(*spec.Task) string { return "None has a free GPU." }}
	for _, host := range p.View().Hosts("") {
		if host.Status != spec.HostDraining && !host.Lost() {
			f.Hosts = append(f.Hosts, host)
		}
	}
	f.ZonesFor = p.zonesFor
	for _, zone := range p.zonesFor(nil) {
		f.Zones = append(f.Zones, zone.Name)
	}
	return f
}

// reconcile takes steps until there is nothing to do.
func (p *pool) reconcile() {
	p.t.Helper()
	for range 10 * (1 + service.MaxTaskSets) { // a step is of one task set
		s := p.web()
		if s == nil || s.Status == service.Inactive {
			return
		}
		step, wake, changes := Next(p.View(), s, p.facts())
		if p.wake = wake; !changes {
			return
		}
		healthy, live, rollout := len(p.healthy()), len(p.live()), p.rollout()
		p.steps++
		if answer := p.do(step).(raftfsm.ServiceStep); answer.Service == nil {
			p.t.Fatalf("the step was not taken: %v", answer.Refused)
		}
		p.checkStep(step, s, healthy, live)
		p.checkPaused(step, s, rollout)
	}
	p.t.Fatalf("the reconciler does not rest: %+v", p.web())
}

// checkStep holds a step to its bounds: of all tasks and of healthy ones.
func (p *pool) checkStep(step raftfsm.StepService, s *service.Service, healthy, live int) {
	p.t.Helper()
	if s.IsExternal() {
		p.checkSetStep(step)
		return
	}
	most := max(s.MaxTasks(), s.Desired, live)
	if s.Shift.IsOn() || step.Service.Shift.IsOn() { // a rollback in the step may begin one
		most += s.Desired
		p.checkKept(step, s)
	}
	if s.Strategy == service.Replica && len(p.live()) > most {
		p.t.Fatalf("%d tasks, of at most %d", len(p.live()), most)
	}
	least := min(s.MinHealthy(), s.Desired)
	if s.NoCapacityPolicy() == service.StopFirst {
		least -= max(1, s.Desired/slowest)
	}
	if left := len(p.healthy()); s.Strategy == service.Replica && s.Status == service.Active && left < min(healthy, least) {
		p.t.Fatalf("%d healthy tasks are left of %d, at least %d have to be: %+v", left, healthy, least, step.Stops)
	}
	for _, stop := range step.Stops {
		if t := p.View().Task(stop.TaskID); t.DesiredStatus != spec.Stopped {
			p.t.Fatalf("the step stops task %s, which is protected until %s", t.ID, t.ProtectedUntil.Get())
		}
	}
	going := slices.DeleteFunc(p.View().ServiceRollouts("svc"), (*service.Rollout).IsFinished)
	if len(going) > 1 {
		p.t.Fatalf("%d rollouts go on", len(going))
	}
}

// checkKept fails when a step stops a healthy task that the traffic comes from, while it may have to go back to it, unless as many are left as there are to be.
func (p *pool) checkKept(step raftfsm.StepService, s *service.Service) {
	p.t.Helper()
	left := slices.DeleteFunc(p.healthy(), func(t *spec.Task) bool { return t.Service.Deployment != s.Shift.From })
	for _, stop := range step.Stops {
		t := p.View().Task(stop.TaskID)
		if step.Service.Shift.IsOn() && t.Service.Deployment == s.Shift.From && p.isHealthy(t) && len(left) < s.Desired {
			p.t.Fatalf("the step stops task %s, which the traffic comes from, of %d of %d: %+v", t.ID, len(left), s.Desired, s.Shift)
		}
	}
}

// checkPaused fails when a step goes on with a rollout that waits for an answer, before or after it.
func (p *pool) checkPaused(step raftfsm.StepService, s *service.Service, was *service.Rollout) {
	p.t.Helper()
	r := p.rollout()
	if r == nil || was == nil || !was.Paused() || !r.Paused() {
		return
	}
	if now := p.web().Shift; now.PerMille > s.Shift.PerMille || now.From != s.Shift.From || p.web().Primary().State == service.Completed {
		p.t.Fatalf("the rollout is paused, and its traffic has moved from %+v to %+v", s.Shift, now)
	}
	for _, start := range step.Starts {
		if s.Shift.StartsNothing() && start.Service.Deployment == s.Primary().ID {
			p.t.Fatalf("the rollout is paused at %s, and task %s of it starts", s.Shift.Stage, start.ID)
		}
	}
}

// place gives tasks that wait a GPU, in their order.
func (p *pool) place() {
	for t := range p.View().QueuedTasks(spec.DefaultCluster) {
		for _, host := range p.View().Hosts(spec.DefaultCluster) {
			free := p.View().Free(host.ID).GPUs
			if host.Status == spec.HostDraining || host.Lost() || len(free) == 0 || !p.meets(t, host) {
				continue
			}
			p.do(raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: t.ID, HostID: host.ID, GPUs: [][]string{free[:1]}}}}})
			break
		}
	}
}

// report has the hosts carry tasks one step on.
func (p *pool) report() {
	for _, t := range p.View().ServiceTasks("svc") {
		family, _, _ := strings.Cut(strings.TrimPrefix(t.Definition, spec.DaemonPrefix), ":")
		r := spec.TaskReport{TaskID: t.ID, Status: spec.Running, Times: spec.TaskTimes{Started: p.now}}
		c := spec.ContainerReport{Name: "main", Status: spec.Running}
		ended := t.DesiredStatus == spec.Stopped || family == "short" && t.LastStatus == spec.Running
		switch {
		case t.HostID == "" || t.LastStatus == spec.Stopped || p.View().Host(t.HostID).Lost():
			continue
		case family == "broken" || ended:
			r.Status, r.Times, c.Status = spec.Stopped, spec.TaskTimes{Stopped: p.now}, spec.Stopped
			if c.ExitCode = new(int); family == "broken" {
				c.ExitCode, c.Reason = nil, "CannotPullContainerError"
			}
		case t.LastStatus == spec.Running && family == "sick":
			r.Times, c.Health = spec.TaskTimes{}, spec.Unhealthy
		case t.LastStatus == spec.Running && family == "checked":
			r.Times, c.Health = spec.TaskTimes{}, spec.Healthy
		case t.LastStatus == spec.Running:
			continue
		}
		r.Containers = []spec.ContainerReport{c}
		p.do(raftfsm.ReportTasks{HostID: t.HostID, Reports: []spec.TaskReport{r}})
	}
}

// said counts the events that have these words.
func (p *pool) said(words string) (n int) {
	for _, e := range p.web().Events {
		if strings.Contains(e.Message, words) {
			n++
		}
	}
	return n
}
