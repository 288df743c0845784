package orchestrator

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/raftfsm"
	"pinion/raftfsm/quarantine"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

var gpuHistories = flag.Int("gpu-histories", 20, "random histories of tasks with GPUs")

const (
	historyHosts = 16
	historySteps = 150
	historyModel = "NVIDIA H100 80GB HBM3"
	historyMiB   = 81559
)

// gpuHistory is 16 hosts, of which some share their GPUs, some are partitioned by the pool and some by hand, with tasks that come and go and GPUs that
// fail. Plans are made of states that are a few steps old, as by a scheduler with entries in flight.
type gpuHistory struct {
	*memProposer
	*rand.Rand
	t          *testing.T
	partitions *GPUPartitions
	hosts      []*historyHost
	old        []*raftfsm.View // the last states
	placed     map[string]bool // tasks whose placement the witness has seen
	tasks      int
}

// historyHost is what a host would say of itself.
type historyHost struct {
	spec.Host
	layouts map[string]mig.Layout // of its GPUs, by UUID
	sick    map[string]gpu.Health // by UUID of the GPU
	made    map[string]int        // how often a MIG device was made: it has another UUID each time
}

func newGPUHistory(t *testing.T, seed uint64) *gpuHistory {
	g := &gpuHistory{memProposer: &memProposer{state: raftfsm.NewState(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, Rand: rand.New(rand.NewPCG(seed, 0)), t: t, placed: map[string]bool{}}
	g.partitions = &GPUPartitions{Proposer: g, Schedulable: everywhere, Log: slog.New(slog.DiscardHandler)}
	g.do(t, raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	for n := range historyHosts {
		h := &historyHost{layouts: map[string]mig.Layout{}, sick: map[string]gpu.Health{}, made: map[string]int{}}
		h.ID = fmt.Sprintf("h%02d", n)
		h.Name, h.Cluster, h.CPU, h.MemoryMiB, h.Attributes = h.ID, spec.DefaultCluster, 1<<16, 1<<20, map[string]string{"ecs.cpu-architecture": "x86_64"}
		for i := range 1 + g.IntN(8) {
			uuid := fmt.Sprintf("%s-gpu%d", h.ID, i)
			h.layouts[uuid] = nil
			switch {
			case n%4 == 0:
				h.GPUs.VRAMEnforcement = gpu.EnforcedByMPS
			case n%4 == 1:
				h.GPUs.DynamicMIG = true
			case n%4 == 2 && g.IntN(2) == 0:
				h.layouts[uuid], _ = mig.Arrange(historyModel, []string{"3g.40gb", "1g.20gb", "1g.10gb"})
			}
		}
		g.hosts = append(g.hosts, h)
		g.join(h)
	}
	return g
}

// join has the host tell what it has.
func (g *gpuHistory) join(h *historyHost) {
	h.GPUs.Devices = nil
	for i := range len(h.layouts) {
		card := gpu.Device{UUID: fmt.Sprintf("%s-gpu%d", h.ID, i), Index: i, Model: historyModel, MemoryMiB: historyMiB, Health: gpu.Healthy}
		if health := h.sick[card.UUID]; health != "" {
			card.Health, card.Problem = health, "as the test wants"
		}
		if len(h.layouts[card.UUID]) == 0 {
			h.GPUs.Devices = append(h.GPUs.Devices, card)
		}
		for n, instance := range h.layouts[card.UUID] {
			d := card
			name := fmt.Sprintf("%s/%s", card.UUID, instance)
			d.UUID = fmt.Sprint(name, "#", h.made[name])
			d.MIGDevice = &gpu.MIGDevice{Parent: card.UUID, ParentMemoryMiB: card.MemoryMiB, Index: n, Profile: instance.Profile, Start: instance.Start}
			for _, p := range mig.Profiles(historyModel) {
				if p.Name == instance.Profile {
					d.MemoryMiB = p.MemoryMiB(card.MemoryMiB)
				}
			}
			h.GPUs.Devices = append(h.GPUs.Devices, d)
		}
	}
	g.do(g.t, raftfsm.PutHost{Host: h.Host})
}

// step does one of the things that happen in a pool.
func (g *gpuHistory) step() {
	g.now = g.now.Add(time.Duration(g.IntN(30)) * time.Second)
	h := g.hosts[g.IntN(len(g.hosts))]
	switch g.IntN(10) {
	case 0, 1, 2:
		g.launch()
	case 3:
		g.placeWaiting()
	case 4, 5:
		g.endTask(h)
	case 6:
		g.fail(h)
	case 7:
		g.quarantine(h)
	case 8:
		g.partition(h)
	case 9:
		g.carryOut(h)
	}
}

// definition makes a task definition of a random request for GPUs.
func (g *gpuHistory) definition() *spec.TaskDefinition {
	requirement := spec.ResourceRequirement{Type: "GPU", Value: fmt.Sprint(1 + g.IntN(4))}
	family, constraints := "whole"+requirement.Value, []spec.PlacementConstraint(nil)
	switch g.IntN(3) {
	case 0:
		mib := int64(1000 + g.IntN(historyMiB))
		family, requirement = fmt.Sprint("share", mib), spec.ResourceRequirement{Type: "GPU", SharingStrategy: &spec.SharingStrategy{NvidiaMPS: &spec.NvidiaMPS{Memory: mib}}}
	case 1:
		profiles := mig.Profiles(historyModel)
		name := profiles[g.IntN(len(profiles))].Name
		family = fmt.Sprintf("mig%s-%s", requirement.Value, name)
		constraints = []spec.PlacementConstraint{{Type: spec.MemberOf, Expression: "attribute:pinion.gpu.mig-profile == " + name}}
	}
	d := spec.TaskDefinition{Family: family, PlacementConstraints: constraints, Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", CPU: 10, Memory: 10, ResourceRequirements: []spec.ResourceRequirement{requirement}}}}
	recorded, err := g.Propose(g.t.Context(), raftfsm.RegisterDefinition{Definition: d})
	if err != nil {
		g.t.Fatal(err)
	}
	return recorded.(*spec.TaskDefinition)
}

// view is a state of some steps ago.
func (g *gpuHistory) view() *raftfsm.View { return g.old[g.IntN(len(g.old))] }

// launch runs a task, at once or through the queue.
func (g *gpuHistory) launch() {
	definition := g.definition()
	g.tasks++
	id := fmt.Sprintf("t%05d", g.tasks)
	r := schedule.Request{Run: spec.RunRequest{Cluster: spec.DefaultCluster, Definition: definition.Name(), Count: 1}, Definition: definition, IDs: func() string { return id }, At: g.now}
	tasks := schedule.PlanOn(planningHosts(g.view()), []schedule.Request{r})[0].Tasks
	if len(tasks) == 0 || g.IntN(3) == 0 {
		tasks = []*spec.Task{{ID: id, Cluster: spec.DefaultCluster, Definition: definition.Name(), LastStatus: spec.Provisioning, DesiredStatus: spec.Running, CreatedAt: g.now,
			Queue: &spec.QueueSpec{}, Containers: []spec.Container{{ID: "c" + id, Name: "c", LastStatus: spec.Pending}}}}
	}
	g.do(g.t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: tasks}}})
}

// placeWaiting places a task of the queue.
func (g *gpuHistory) placeWaiting() {
	view := g.view()
	waiting := slices.Collect(view.QueuedTasks(spec.DefaultCluster))
	if len(waiting) == 0 {
		return
	}
	task := waiting[g.IntN(len(waiting))]
	r := schedule.RequestFor(view, task, view.Definition(task.Definition))
	r.Waiting = []*spec.Task{task}
	for _, planned := range schedule.PlanOn(planningHosts(view), []schedule.Request{r})[0].Tasks {
		g.do(g.t, raftfsm.PlaceTasks{Groups: [][]spec.Placement{{schedule.PlacementOf(task, planned)}}})
	}
}

// endTask has a host report that a task has ended.
func (g *gpuHistory) endTask(h *historyHost) {
	live := g.live(h.ID)
	if len(live) == 0 {
		return
	}
	task := live[g.IntN(len(live))]
	report := spec.TaskReport{TaskID: task.ID, Status: spec.Running, Times: spec.TaskTimes{Started: g.now}}
	if task.LastStatus == spec.Running || g.IntN(2) == 0 {
		report.Status, report.Times = spec.Stopped, spec.TaskTimes{Stopped: g.now}
	}
	g.do(g.t, raftfsm.ReportTasks{HostID: h.ID, Reports: []spec.TaskReport{report}})
}

func (g *gpuHistory) live(hostID string) (live []*spec.Task) {
	for _, task := range g.state.View().TasksOn(hostID) {
		if task.LastStatus != spec.Stopped {
			live = append(live, task)
		}
	}
	return live
}

func (g *gpuHistory) anyCard(h *historyHost) string {
	return fmt.Sprintf("%s-gpu%d", h.ID, g.IntN(len(h.layouts)))
}

// fail breaks a GPU, or mends it.
func (g *gpuHistory) fail(h *historyHost) {
	uuid := g.anyCard(h)
	if h.sick[uuid] != "" {
		delete(h.sick, uuid)
	} else {
		h.sick[uuid] = []gpu.Health{gpu.Unhealthy, gpu.Suspect, gpu.NeedsReset, gpu.Lost}[g.IntN(4)]
	}
	g.join(h)
}

// quarantine keeps a device from tasks, or releases it.
func (g *gpuHistory) quarantine(h *historyHost) {
	host := g.state.View().Host(h.ID)
	uuid := host.GPUs.Devices[g.IntN(len(host.GPUs.Devices))].UUID
	c := raftfsm.SetGPUQuarantine{HostID: h.ID, UUID: uuid, At: g.now}
	if !host.Quarantine.Has(uuid) {
		c.Quarantine = &quarantine.GPU{By: "test"}
	}
	g.do(g.t, c)
}

// partition has the pool plan what GPUs are to be, or a leader that was told of nothing want anything.
func (g *gpuHistory) partition(h *historyHost) {
	if g.IntN(2) == 0 {
		if err := g.partitions.Reconcile(g.t.Context()); err != nil {
			g.t.Fatal(err)
		}
		return
	}
	var layout mig.Layout
	for range g.IntN(4) {
		profiles := mig.Profiles(historyModel)
		if added, ok := layout.Add(historyModel, profiles[g.IntN(len(profiles))].Name); ok {
			layout = layout.With(added)
		}
	}
	_, _ = g.Propose(g.t.Context(), raftfsm.SetGPUPartition{HostID: h.ID, UUID: g.anyCard(h), Layout: layout, At: g.now}) // refused when a task has what goes
}

// carryOut has a host partition its GPUs as the pool wants, as far as no task has what goes.
func (g *gpuHistory) carryOut(h *historyHost) {
	host := g.state.View().Host(h.ID)
	for _, p := range host.Partitions {
		held := slices.ContainsFunc(g.live(h.ID), func(t *spec.Task) bool {
			return slices.ContainsFunc(host.GPUs.Devices, func(d gpu.Device) bool {
				return d.IsOf(p.UUID) && host.Partitions.Removes(&d) && slices.Contains(t.GPUs(), d.UUID)
			})
		})
		if held {
			g.t.Fatalf("%s is to be %v while a task has a device that goes", p.UUID, p.Layout)
		}
		for _, instance := range p.Layout {
			if !slices.Contains(h.layouts[p.UUID], instance) {
				h.made[fmt.Sprintf("%s/%s", p.UUID, instance)]++
			}
		}
		h.layouts[p.UUID] = p.Layout
	}
	g.join(h)
}

// TestNoGPUIsGivenTwice tries many histories of whole, shared and MIG tasks with `go test ./server/orchestrator -run NoGPUIsGivenTwice -gpu-histories 500`.
func TestNoGPUIsGivenTwice(t *testing.T) {
	started := map[string]int{}
	for seed := range *gpuHistories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := newGPUHistory(t, uint64(seed))
			for range historySteps {
				before := g.state.View()
				g.old = append(g.old[max(0, len(g.old)-3):], before)
				g.step()
				g.witness(before)
			}
			for id := range g.placed {
				task := g.state.View().Task(id)
				switch c := task.Containers[0]; {
				case c.Share != nil:
					started["shares"]++
				case c.MIGMilli > 0:
					started["MIG devices"]++
				default:
					started["whole GPUs"]++
				}
			}
			g.end()
		})
	}
	for _, kind := range []string{"shares", "MIG devices", "whole GPUs"} {
		if started[kind] < *gpuHistories {
			t.Errorf("%d tasks with %s in %d histories: they show little", started[kind], kind, *gpuHistories)
		}
	}
	t.Logf("%d histories: %v", *gpuHistories, started)
}
