package orchestrator

import (
	"slices"

	"pinion/gpu"
	"pinion/gpu/mig"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// witness adds up who has what, knowing nothing of accounts and free lists.
func (g *gpuHistory) witness(before *raftfsm.View) {
	g.t.Helper()
	for _, h := range g.hosts {
		whole, shared, slicesOf := map[string]int{}, map[string]int64{}, map[string]mig.Layout{}
		host := g.state.View().Host(h.ID)
		for _, task := range g.live(h.ID) {
			for i := range task.Containers {
				c := &task.Containers[i]
				for _, uuid := range c.GPUs {
					if c.Share != nil {
						shared[uuid] += c.Share.MemoryMiB
					} else {
						whole[uuid]++
					}
					g.given(before, host, task, uuid)
					if d, has := host.GPUs.Device(uuid); has && d.MIGDevice != nil {
						slicesOf[d.MIGDevice.Parent] = slicesOf[d.MIGDevice.Parent].With(d.MIGDevice.Instance())
						if c.MIGMilli == 0 || c.Share != nil {
							g.t.Fatalf("task %s has MIG device %s as %d thousandths, shared: %t", task.ID, uuid, c.MIGMilli, c.Share != nil)
						}
					}
				}
			}
			g.placed[task.ID] = true
		}
		for uuid, n := range whole {
			if n > 1 || shared[uuid] > 0 {
				g.t.Fatalf("%s is given as a whole %d times, and %d MiB of it in shares", uuid, n, shared[uuid])
			}
		}
		for uuid, mib := range shared {
			if mib > historyMiB {
				g.t.Fatalf("%d MiB of %s are given", mib, uuid)
			}
		}
		for card, layout := range slicesOf {
			if err := layout.Check(historyModel); err != nil || whole[card] > 0 || shared[card] > 0 {
				g.t.Fatalf("%s is given as %v, as a whole %d times and %d MiB of it: %v", card, layout, whole[card], shared[card], err)
			}
		}
	}
}

// given checks the device of a task that was just placed: it was well, in no quarantine, and not about to go.
func (g *gpuHistory) given(before *raftfsm.View, host *spec.Host, task *spec.Task, uuid string) {
	if g.placed[task.ID] {
		return
	}
	was := before.Host(host.ID)
	d, has := was.GPUs.Device(uuid)
	if !has || d.Health != gpu.Healthy || was.Quarantine.Has(uuid) || was.Partitions.Removes(&d) {
		g.t.Fatalf("task %s was given %s, there: %t, %s, in quarantine: %t, going: %t", task.ID, uuid, has, d.Health, was.Quarantine.Has(uuid), was.Partitions.Removes(&d))
	}
}

// end ends all tasks, mends all GPUs and releases all: every device is free then, and GPUs of the pool are whole.
func (g *gpuHistory) end() {
	for _, task := range slices.Collect(g.state.View().QueuedTasks("")) {
		g.do(g.t, raftfsm.StopTask{ID: task.ID, At: g.now})
	}
	for _, h := range g.hosts {
		for _, task := range g.live(h.ID) {
			g.do(g.t, raftfsm.ReportTasks{HostID: h.ID, Reports: []spec.TaskReport{{TaskID: task.ID, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: g.now}}}})
		}
		for _, q := range g.state.View().Host(h.ID).Quarantine {
			g.do(g.t, raftfsm.SetGPUQuarantine{HostID: h.ID, UUID: q.UUID, At: g.now})
		}
		clear(h.sick)
		g.join(h)
	}
	for range 6 { // what the hosts have not carried out yet, GPUs that were left alone for a while, then what nobody has
		if err := g.partitions.Reconcile(g.t.Context()); err != nil {
			g.t.Fatal(err)
		}
		for _, h := range g.hosts {
			g.carryOut(h)
		}
		g.now = g.now.Add(mergeAfter)
	}
	for _, h := range g.hosts {
		host := g.state.View().Host(h.ID)
		free := g.state.View().Free(h.ID)
		if got := len(free.GPUs); got != len(host.GPUs.Devices) || len(host.Partitions) > 0 || host.GPUs.DynamicMIG && gpu.WholeGPUs(host.GPUs.Devices) != len(h.layouts) {
			g.t.Fatalf("at the end %d of %d devices of %s are free, and the pool partitions %v", got, len(host.GPUs.Devices), h.ID, host.Partitions)
		}
	}
}

func planningHosts(view *raftfsm.View) (hosts []schedule.Host) {
	for _, host := range view.Hosts("") {
		tasks := view.TasksOn(host.ID)
		hosts = append(hosts, schedule.Host{Host: host, Free: spec.NewFree(host, tasks), Connected: true, Tasks: func() []*spec.Task { return tasks }})
	}
	return hosts
}
