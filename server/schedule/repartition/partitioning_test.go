package repartition_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/raftfsm/partition"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/repartition"
)

const h100 = "NVIDIA H100 80GB HBM3"

// pool is hosts that let the pool partition their H100s, and what runs there.
type pool struct {
	t     testing.TB
	hosts []*spec.Host
	tasks map[string][]*spec.Task
}

// newPool has hosts with GPUs, each as a layout says: "" is a whole GPU, "3g.40gb@0 1g.10gb@4" a partitioned one.
func newPool(t testing.TB, hosts ...[]string) *pool {
	p := &pool{t: t, tasks: map[string][]*spec.Task{}}
	for n, layouts := range hosts {
		h := &spec.Host{ID: fmt.Sprintf("h%d", n), Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: 8192, MemoryMiB: 1 << 20, Attributes: map[string]string{"ecs.cpu-architecture": "x86_64"}}
		h.GPUs.DynamicMIG = true
		for i, text := range layouts {
			p.setLayout(h, fmt.Sprintf("h%d-gpu%d", n, i), i, parse(text))
			if text != "" {
				h.Partitions = append(h.Partitions, partition.GPU{UUID: fmt.Sprintf("h%d-gpu%d", n, i), Layout: parse(text)})
			}
		}
		p.hosts = append(p.hosts, h)
	}
	return p
}

func parse(text string) (l mig.Layout) {
	for _, part := range strings.Fields(text) {
		var i mig.Instance
		name, start, _ := strings.Cut(part, "@")
		fmt.Sscan(start, &i.Start)
		i.Profile = name
		l = append(l, i)
	}
	return l
}

func format(l mig.Layout) string {
	var all []string
	for _, i := range l {
		all = append(all, fmt.Sprintf("%s@%d", i.Profile, i.Start))
	}
	return strings.Join(all, " ")
}

func (p *pool) setLayout(h *spec.Host, uuid string, index int, l mig.Layout) {
	h.GPUs.Devices = slices.DeleteFunc(h.GPUs.Devices, func(d gpu.Device) bool { return d.IsOf(uuid) })
	whole := gpu.Device{UUID: uuid, Index: index, Model: h100, MemoryMiB: 81559, Health: gpu.Healthy}
	if len(l) == 0 {
		h.GPUs.Devices = append(h.GPUs.Devices, whole)
	}
	for n, i := range l {
		d := whole
		d.UUID = fmt.Sprintf("%s/%s@%d", uuid, i.Profile, i.Start)
		d.MIGDevice = &gpu.MIGDevice{Parent: uuid, ParentMemoryMiB: 81559, Index: n, Profile: i.Profile, Start: i.Start}
		h.GPUs.Devices = append(h.GPUs.Devices, d)
	}
}

func (p *pool) partitioning() *repartition.Partitioning {
	var hosts []schedule.Host
	for _, h := range p.hosts {
		hosts = append(hosts, schedule.Host{Host: h, Connected: true, Tasks: func() []*spec.Task { return p.tasks[h.ID] }})
	}
	return repartition.New(hosts, func(string, string) bool { return false })
}

// assignDevices gives devices to a task.
func (p *pool) assignDevices(host int, uuids ...string) {
	id := p.hosts[host].ID
	p.tasks[id] = append(p.tasks[id], &spec.Task{ID: fmt.Sprint("t", len(p.tasks[id])), HostID: id, LastStatus: spec.Running, DesiredStatus: spec.Running, Containers: []spec.Container{{GPUs: uuids}}})
}

func request(gpus int, expressions ...string) schedule.Request {
	definition := &spec.TaskDefinition{Family: "work", Revision: 1, Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{
		Name: "c", Image: "busybox", CPU: 100, Memory: 100, ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: fmt.Sprint(gpus)}},
	}}}
	run := spec.RunRequest{Cluster: spec.DefaultCluster, Definition: definition.Name(), Count: 1}
	for _, e := range expressions {
		run.Constraints = append(run.Constraints, spec.PlacementConstraint{Type: spec.MemberOf, Expression: e})
	}
	return schedule.Request{Run: run, Definition: definition, At: time.Unix(0, 0)}
}

func profile(name string) string { return "attribute:pinion.gpu.mig-profile == " + name }

func TestGPUsArePartitionedForTasksThatWait(t *testing.T) {
	for name, k := range map[string]struct {
		pool    *pool
		devices []string // devices of the first host that a task has
		wait    []schedule.Request
		refused int
		want    string // changes, "GPU: layout"
	}{
		"one small device leaves room for the largest": {newPool(t, []string{"", ""}), nil, []schedule.Request{request(1, profile("1g.10gb"))}, 0, "h0-gpu0: 1g.10gb@6"},
		"several tasks share a GPU": {newPool(t, []string{"", ""}), nil, []schedule.Request{request(1, profile("1g.10gb")), request(1, profile("3g.40gb")), request(1, profile("2g.20gb"))}, 0,
			"h0-gpu0: 3g.40gb@0 2g.20gb@4 1g.10gb@6"},
		"a device that is free is not made again":   {newPool(t, []string{"1g.10gb@6", ""}), nil, []schedule.Request{request(1, profile("1g.10gb"))}, 0, ""},
		"a GPU with MIG devices before a whole one": {newPool(t, []string{"", "1g.10gb@6"}), []string{"h0-gpu1/1g.10gb@6"}, []schedule.Request{request(1, profile("4g.40gb"))}, 0, "h0-gpu1: 4g.40gb@0 1g.10gb@6"},
		"a whole GPU that a task has is left alone": {newPool(t, []string{"", ""}), []string{"h0-gpu0"}, []schedule.Request{request(1, profile("7g.80gb"))}, 0, "h0-gpu1: 7g.80gb@0"},
		"idle devices make room":                    {newPool(t, []string{"3g.40gb@0 3g.40gb@4"}), []string{"h0-gpu0/3g.40gb@4"}, []schedule.Request{request(1, profile("1g.10gb"))}, 0, "h0-gpu0: 1g.10gb@0 3g.40gb@4"},
		"a whole GPU comes back":                    {newPool(t, []string{"3g.40gb@0"}), nil, []schedule.Request{request(1)}, 0, "h0-gpu0: "},
		"not one of which a device is held":         {newPool(t, []string{"3g.40gb@0"}), []string{"h0-gpu0/3g.40gb@0"}, []schedule.Request{request(1)}, 1, ""},
		"a task with two devices":                   {newPool(t, []string{""}), nil, []schedule.Request{request(2, profile("1g.20gb"))}, 0, "h0-gpu0: 1g.20gb@4 1g.20gb@6"},
		"any profile with enough memory":            {newPool(t, []string{""}), nil, []schedule.Request{request(1, "attribute:pinion.gpu.mig-profile exists", "attribute:pinion.gpu.memory-mib >= 30000")}, 0, "h0-gpu0: 3g.40gb@4"},
		"a profile that no GPU has":                 {newPool(t, []string{""}), nil, []schedule.Request{request(1, profile("1g.5gb"))}, 1, ""},
		"seven, and one too many":                   {newPool(t, []string{""}), nil, slices.Repeat([]schedule.Request{request(1, profile("1g.10gb"))}, 8), 1, "h0-gpu0: 1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6"},
		"a task that waits for two whole GPUs":      {newPool(t, []string{"", "", "1g.10gb@6"}), []string{"h0-gpu0", "h0-gpu2/1g.10gb@6"}, []schedule.Request{request(2), request(1, profile("1g.10gb")), request(1, profile("7g.80gb"))}, 3, ""},
		"the next host":                             {newPool(t, []string{""}, []string{""}), []string{"h0-gpu0"}, []schedule.Request{request(1, profile("2g.20gb"))}, 0, "h1-gpu0: 2g.20gb@4"},
	} {
		if k.devices != nil {
			k.pool.assignDevices(0, k.devices...)
		}
		p, refused := k.pool.partitioning(), 0
		for _, r := range k.wait {
			if !p.Add(r) {
				refused++
			}
		}
		var changes []string
		for _, c := range p.Changes() {
			changes = append(changes, c.UUID+": "+format(c.Layout))
		}
		if got := strings.Join(changes, "; "); got != k.want || refused != k.refused {
			t.Errorf("%s: %q with %d refused, want %q with %d", name, got, refused, k.want, k.refused)
		}
	}
}

func TestOtherHostsAreLeftAlone(t *testing.T) {
	p := newPool(t, []string{"", "1g.10gb@6"})
	p.hosts[0].Partitions = nil // somebody else has made that one
	p.hosts[0].GPUs.Devices[0].Health = gpu.Lost
	if partitioning := p.partitioning(); partitioning.Add(request(1, profile("3g.40gb"))) || len(partitioning.Changes()) > 0 || len(partitioning.Idle()) > 0 {
		t.Errorf("a sick GPU, or the MIG devices of somebody else: %v", partitioning.Changes())
	}
	p = newPool(t, []string{""})
	p.hosts[0].GPUs.DynamicMIG = false
	if partitioning := p.partitioning(); partitioning.Add(request(1, profile("3g.40gb"))) {
		t.Errorf("a host that does not allow it: %v", partitioning.Changes())
	}
}

func TestDevicesThatNobodyHasGo(t *testing.T) {
	p := newPool(t, []string{"3g.40gb@0 1g.10gb@6"})
	p.assignDevices(0, "h0-gpu0/1g.10gb@6")
	partitioning := p.partitioning()
	idle := partitioning.Idle()
	if len(idle) != 1 || idle[0].Instance != (mig.Instance{Profile: "3g.40gb"}) {
		t.Fatalf("idle are %v", idle)
	}
	partitioning.Remove(idle[0])
	if changes := partitioning.Changes(); len(changes) != 1 || format(changes[0].Layout) != "1g.10gb@6" {
		t.Errorf("changes %v", changes)
	}
}

// Whatever waits and runs, on whatever hosts: layouts are valid, no device that a task has goes, and a task with one device that Add took has its place
// afterwards. One with two may find that the scheduler has put others elsewhere than the plan, and waits for the next one.
func TestNoTaskLosesItsDevice(t *testing.T) {
	names := []string{"1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}
	rapid.Check(t, func(rt *rapid.T) {
		p := newPool(t, slices.Repeat([]string{""}, rapid.IntRange(1, 3).Draw(rt, "GPUs")), slices.Repeat([]string{""}, rapid.IntRange(0, 2).Draw(rt, "more GPUs")))
		for range rapid.IntRange(1, 12).Draw(rt, "rounds") {
			partitioning := p.partitioning()
			var taken []schedule.Request
			for range rapid.IntRange(0, 5).Draw(rt, "tasks") {
				r := request(rapid.IntRange(1, 2).Draw(rt, "wanted"))
				if rapid.IntRange(0, 3).Draw(rt, "whole") > 0 {
					r = request(rapid.IntRange(1, 2).Draw(rt, "wanted"), profile(rapid.SampledFrom(names).Draw(rt, "profile")))
				}
				if partitioning.Add(r) {
					taken = append(taken, r)
				}
			}
			if idle := partitioning.Idle(); len(idle) > 0 && rapid.Bool().Draw(rt, "one goes") {
				partitioning.Remove(rapid.SampledFrom(idle).Draw(rt, "idle"))
			}
			p.carryOut(rt, partitioning.Changes())
			p.run(rt, taken)
			for id, tasks := range p.tasks {
				p.tasks[id] = slices.DeleteFunc(tasks, func(*spec.Task) bool { return rapid.IntRange(0, 2).Draw(rt, "ends") == 0 })
			}
		}
	})
}

// carryOut does what the hosts do.
func (p *pool) carryOut(t *rapid.T, changes []repartition.Change) {
	for _, c := range changes {
		at := slices.IndexFunc(p.hosts, func(h *spec.Host) bool { return h.ID == c.HostID })
		h := p.hosts[at]
		if err := c.Layout.Check(h100); err != nil {
			t.Fatal(err)
		}
		var index int
		fmt.Sscanf(c.UUID, c.HostID+"-gpu%d", &index)
		p.setLayout(h, c.UUID, index, c.Layout)
		h.Partitions = h.Partitions.Set(partition.GPU{UUID: c.UUID, Layout: c.Layout}).Prune(h.GPUs)
		for _, task := range p.tasks[h.ID] {
			for _, uuid := range task.GPUs() {
				if _, has := h.GPUs.Device(uuid); !has {
					t.Fatalf("%s of task %s has gone: %v", uuid, task.ID, c)
				}
			}
		}
	}
}

// run places the tasks as the scheduler does.
func (p *pool) run(t *rapid.T, requests []schedule.Request) {
	for n, r := range requests {
		r.IDs = func() string { return fmt.Sprintf("%d-%d", len(p.tasks["h0"])+len(p.tasks["h1"]), n) }
		var hosts []schedule.Host
		for _, h := range p.hosts {
			own := p.tasks[h.ID]
			hosts = append(hosts, schedule.Host{Host: h, Connected: true, Free: spec.NewFree(h, own), Tasks: func() []*spec.Task { return own }})
		}
		d := schedule.PlanOn(hosts, []schedule.Request{r})[0]
		if len(d.Tasks) != 1 {
			if spec.DemandOf(r.Definition).TotalGPUs() == 1 {
				t.Fatalf("task %d of %d has no place: %v", n, len(requests), d.Failures)
			}
			continue
		}
		p.tasks[d.Tasks[0].HostID] = append(p.tasks[d.Tasks[0].HostID], d.Tasks[0])
	}
}
