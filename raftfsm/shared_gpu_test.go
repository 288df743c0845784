package raftfsm

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

const sharedTotalMiB = 1000

// sharingHost is hostWith whose GPUs have 1000 MiB each and are shared by MPS.
func sharingHost(id string, n int) spec.Host {
	host := hostWith(id, n)
	host.GPUs.Simulated, host.GPUs.VRAMEnforcement = true, gpu.EnforcedByMPS
	for i := range host.GPUs.Devices {
		host.GPUs.Devices[i].MemoryMiB = sharedTotalMiB
	}
	return host
}

// sharing is a task with a share of a GPU for each of the sizes.
func sharing(id, host, uuid string, mib ...int64) *spec.Task {
	t := task(id, host)
	t.CPU, t.Containers = 1, nil
	for i, size := range mib {
		t.Containers = append(t.Containers, spec.Container{ID: fmt.Sprint(id, "-", i), Name: fmt.Sprint("c", i), GPUs: []string{uuid}, LastStatus: spec.Pending,
			Share: &spec.GPUShare{MemoryMiB: size, TotalMiB: sharedTotalMiB}})
	}
	return t
}

// sharedHistory are two hosts that share their three GPUs each.
func sharedHistory(t tester) *history {
	h := newHistory(t)
	h.do(t, PutHost{sharingHost("s1", 3)})
	h.do(t, PutHost{sharingHost("s2", 3)})
	return h
}

// drawShared is a task that names GPUs without asking whether they are free: whole ones, or shares of one.
func drawShared(r *rapid.T, id string) *spec.Task {
	host := rapid.SampledFrom([]string{"s1", "s2"}).Draw(r, "host")
	uuid := func() string { return fmt.Sprint(host, "-gpu", rapid.IntRange(0, 2).Draw(r, "gpu")) }
	if rapid.Bool().Draw(r, "whole") {
		t := task(id, host)
		t.CPU = 1
		for range rapid.IntRange(1, 2).Draw(r, "gpus") {
			t.Containers[0].GPUs = append(t.Containers[0].GPUs, uuid())
		}
		return t
	}
	return sharing(id, host, uuid(), rapid.SliceOfN(rapid.Int64Range(1, 700), 1, 3).Draw(r, "mib")...)
}

// checkShared compares what tasks hold of each GPU with the rules: one whole owner, or shares within its memory.
func checkShared(t tester, v *View) {
	t.Helper()
	for _, id := range []string{"s1", "s2"} {
		whole, mib, free := map[string]int{}, map[string]int64{}, v.Free(id)
		for _, live := range v.liveTasksOn(id) {
			for _, c := range live.Containers {
				for _, uuid := range c.GPUs {
					if c.Share == nil {
						whole[uuid]++
					} else {
						mib[uuid] += c.Share.MemoryMiB
					}
				}
			}
		}
		for i := range free.Allocations() {
			a := &free.Allocations()[i]
			held := whole[a.UUID] > 0 || mib[a.UUID] > 0
			if whole[a.UUID] > 1 || whole[a.UUID] > 0 && mib[a.UUID] > 0 || mib[a.UUID] > sharedTotalMiB {
				t.Fatalf("%s is owned %d times and shared by %d MiB", a.UUID, whole[a.UUID], mib[a.UUID])
			}
			if slices.Contains(free.GPUs, a.UUID) == held || a.Idle() == held || whole[a.UUID] == 0 && a.RemainingMiB() != sharedTotalMiB-mib[a.UUID] {
				t.Fatalf("%s is held: %v, and offered as %+v, among %v", a.UUID, held, *a, free.GPUs)
			}
		}
	}
}

// TestSharedGPUsAreNeverOverCommitted draws histories of tasks that name GPUs blindly, at launch and from the queue, of which
// apply refuses what does not fit; in the end all tasks stop.
func TestSharedGPUsAreNeverOverCommitted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := sharedHistory(r)
		stopped := func(live *spec.Task) {
			h.report(r, live.HostID, spec.TaskReport{TaskID: live.ID, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(9)}})
		}
		for i := range rapid.IntRange(1, 60).Draw(r, "steps") {
			live := slices.Concat(h.View().liveTasksOn("s1"), h.View().liveTasksOn("s2"))
			switch drawn := drawShared(r, fmt.Sprintf("t%03d", i)); rapid.IntRange(0, 2).Draw(r, "step") {
			case 0:
				h.launch(r, Launch{Tasks: []*spec.Task{drawn}})
			case 1:
				placeFromQueue(r, h, drawn)
			default:
				if len(live) > 0 {
					stopped(rapid.SampledFrom(live).Draw(r, "stops"))
				}
			}
			checkShared(r, h.View())
		}
		if !bytes.Equal(snapshotOf(r, h.State), snapshotOf(r, restoredFrom(r, h.State))) {
			r.Fatalf("a restored snapshot is another state")
		}
		for _, live := range slices.Concat(h.View().liveTasksOn("s1"), h.View().liveTasksOn("s2")) {
			stopped(live)
		}
		for _, id := range []string{"s1", "s2"} {
			if free := h.View().Free(id); len(free.GPUs) != 3 || free.Allocations().Shares(sharedTotalMiB, 9) != 3 {
				r.Fatalf("after all tasks %s offers %v", id, free.Allocations())
			}
		}
	})
}

// placeFromQueue has the task wait, and places it where it says.
func placeFromQueue(t tester, h *history, placed *spec.Task) {
	waits := *placed
	waits.HostID, waits.LastStatus, waits.Queue = "", spec.Provisioning, &spec.QueueSpec{}
	waits.Containers = slices.Clone(placed.Containers)
	p := spec.Placement{TaskID: placed.ID, HostID: placed.HostID}
	for i := range waits.Containers {
		c := &waits.Containers[i]
		p.GPUs = append(p.GPUs, c.GPUs)
		if c.Share != nil {
			p.Shares = append(p.Shares, *c.Share)
		}
		c.GPUs, c.Share, c.LastStatus = nil, nil, spec.Provisioning
	}
	h.launch(t, Launch{Tasks: []*spec.Task{&waits}})
	h.do(t, PlaceTasks{[][]spec.Placement{{p}}})
}

func restoredFrom(t tester, s *State) *State {
	back := NewState()
	if err := back.Restore(bytes.NewReader(snapshotOf(t, s))); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestSharesThatApplyRefuses(t *testing.T) {
	h := sharedHistory(t)
	h.do(t, PutHost{hostWith("unenforced", 1)})
	h.launch(t, Launch{Tasks: []*spec.Task{task("whole", "s1", "s1-gpu0"), sharing("share", "s1", "s1-gpu1", 600)}})
	otherTotal, twoGPUs, both := sharing("x", "s1", "s1-gpu2", 1), sharing("x", "s1", "s1-gpu2", 1, 1), sharing("x", "s1", "s1-gpu2", 1, 1)
	noGPU := sharing("x", "s1", "s1-gpu2", 1)
	noGPU.Containers[0].GPUs = nil
	otherTotal.Containers[0].Share.TotalMiB = 2000
	twoGPUs.Containers[1].GPUs = []string{"s1-gpu1"}
	both.Containers[1].Share = nil
	for name, refused := range map[string]*spec.Task{
		"a share of a GPU that another task owns":  sharing("x", "s1", "s1-gpu0", 1),
		"more than what remains":                   sharing("x", "s1", "s1-gpu1", 401),
		"more than what remains, in two":           sharing("x", "s1", "s1-gpu1", 201, 200),
		"more than all of a GPU":                   sharing("x", "s1", "s1-gpu2", 1001),
		"a share of no size":                       sharing("x", "s1", "s1-gpu2", 0),
		"less than nothing":                        sharing("x", "s1", "s1-gpu2", 10, -5),
		"a whole GPU that is shared":               task("x", "s1", "s1-gpu1"),
		"a share of no GPU":                        noGPU,
		"a GPU of another size":                    otherTotal,
		"shares of two GPUs":                       twoGPUs,
		"a share and a whole GPU":                  both,
		"a GPU that the host does not have":        sharing("x", "s1", "s2-gpu0", 1),
		"a GPU of a host that enforces no limit":   sharing("x", "unenforced", "unenforced-gpu0", 1),
		"a GPU of a host that says nothing of it ": sharing("x", "h1", "h1-gpu0", 1),
	} {
		if got := h.launch(t, Launch{Tasks: []*spec.Task{refused}}); got.Conflict == "" {
			t.Errorf("%s was recorded", name)
		}
	}
	if got := h.launch(t, Launch{Tasks: []*spec.Task{sharing("rest", "s1", "s1-gpu1", 200, 200)}}); got.Conflict != "" {
		t.Errorf("what remains was refused: %s", got.Conflict)
	}
}

// TestSharesOfAHostThatEnforcesNoMore stay held, and no more of them are given.
func TestSharesOfAHostThatEnforcesNoMore(t *testing.T) {
	h := sharedHistory(t)
	h.running(t, sharing("share", "s1", "s1-gpu1", 600))
	host := sharingHost("s1", 3)
	host.GPUs.VRAMEnforcement = ""
	h.do(t, PutHost{host})
	if free := h.View().Free("s1"); slices.Contains(free.GPUs, "s1-gpu1") || len(free.GPUs) != 2 {
		t.Errorf("%v are offered, one is shared", free.GPUs)
	}
	if got := h.launch(t, Launch{Tasks: []*spec.Task{sharing("more", "s1", "s1-gpu1", 100)}}); got.Conflict == "" {
		t.Error("a share was given that nothing enforces")
	}
}
