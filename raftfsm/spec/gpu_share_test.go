package spec

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pinion/gpu"
)

// sharedHost has n GPUs of 1000 MiB, which it shares.
func sharedHost(n int) *Host {
	h := &Host{ID: "h", CPU: 4096, MemoryMiB: 8192, GPUs: gpu.Inventory{VRAMEnforcement: gpu.EnforcedByMPS}}
	for i := range n {
		h.GPUs.Devices = append(h.GPUs.Devices, gpu.Device{UUID: fmt.Sprint("gpu", i), Index: i, MemoryMiB: 1000, Health: gpu.Healthy})
	}
	return h
}

// asking is a container that asks for a share.
func asking(name string, mib int64, percent ...int64) ContainerDefinition {
	mps := &NvidiaMPS{Memory: mib}
	if len(percent) > 0 {
		mps.MaxComputePercent = &percent[0]
	}
	return ContainerDefinition{Name: name, ResourceRequirements: []ResourceRequirement{{Type: "GPU", SharingStrategy: &SharingStrategy{NvidiaMPS: mps}}}}
}

// drawHolders are tasks that hold GPUs of a host as the ledger would let them: whole ones, or shares.
func drawHolders(t *rapid.T, h *Host) (tasks []*Task) {
	free := NewFree(h, nil)
	for i := range rapid.IntRange(0, 6).Draw(t, "tasks") {
		c := Container{GPUs: []string{fmt.Sprint("gpu", rapid.IntRange(0, len(h.GPUs.Devices)-1).Draw(t, "gpu"))}}
		if rapid.IntRange(0, 2).Draw(t, "shares") > 0 {
			c.Share = &GPUShare{MemoryMiB: rapid.Int64Range(1, 500).Draw(t, "MiB"), TotalMiB: 1000}
		}
		task := &Task{ID: fmt.Sprint("t", i), CPU: 1, Containers: []Container{c}}
		if _, fits := FitsTask(&free, task); fits {
			free.Take(task)
			tasks = append(tasks, task)
		}
	}
	return tasks
}

func TestSharesAreCountedAsTheyAreTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := sharedHost(3)
		free := NewFree(h, drawHolders(t, h))
		c, d := free.Capacity(), Demand{CPU: 1, Shares: rapid.SliceOfN(rapid.Int64Range(1, 600), 1, 3).Draw(t, "wants")}
		left := takeOneByOne(t, &c, &d)
		if left.GPUs != left.allocations.Idle() {
			t.Fatalf("%d GPUs are idle, counted are %d", left.allocations.Idle(), left.GPUs)
		}
	})
}

func TestWhatTasksReturnIsWhatTheOthersLeave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := sharedHost(3)
		tasks := drawHolders(t, h)
		ending := rapid.IntRange(0, len(tasks)).Draw(t, "ending")
		all, rest := NewFree(h, tasks), NewFree(h, tasks[ending:])
		got := all.Capacity()
		for _, task := range tasks[:ending] {
			got = got.Add(h, task)
		}
		if want := rest.Capacity(); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

func TestTheShortfallOfAShareIsThatOfOneGPU(t *testing.T) {
	h := sharedHost(2)
	free := NewFree(h, []*Task{{Containers: []Container{{GPUs: []string{"gpu0"}, Share: &GPUShare{MemoryMiB: 700, TotalMiB: 1000}}}}})
	for mib, fits := range map[int64]bool{1000: true, 1001: false, math.MaxInt64: false} {
		lack, ok := Fits(&free, &Demand{Shares: []int64{mib}})
		if ok != fits || !fits && (lack.Reason != ReasonGPU || lack.Needs != mib || lack.Has != 1000) {
			t.Errorf("%d MiB: %v, %+v", mib, ok, lack)
		}
	}
	if _, ok := Fits(&free, &Demand{GPUs: []int{2}}); ok {
		t.Error("a GPU that is shared was offered as a whole")
	}
}

func TestSharesOfADefinition(t *testing.T) {
	d := &TaskDefinition{Containers: []ContainerDefinition{{Name: "plain"}, asking("a", 300), asking("b", 200)}}
	if got := DemandOf(d); !reflect.DeepEqual(got.Shares, []int64{0, 300, 200}) || got.ShareMiB() != 500 || got.TotalGPUs() != 0 {
		t.Errorf("%+v", got)
	}
	if got := DemandOf(&TaskDefinition{Containers: []ContainerDefinition{asking("a", -1), asking("b", 1)}}); got.ShareMiB() != math.MaxInt64 {
		t.Errorf("an amount below nothing: %+v", got)
	}
}

func TestAShareCountsForItsPartOfAGPU(t *testing.T) {
	for share, want := range map[GPUShare]int{
		{MemoryMiB: 500, TotalMiB: 1000}: 500, {MemoryMiB: 1, TotalMiB: 81559}: 1, {MemoryMiB: 1000, TotalMiB: 1000}: 1000, {MemoryMiB: 10}: 1000,
	} {
		if got := share.Milli(); got != want {
			t.Errorf("%+v counts %d, want %d", share, got, want)
		}
	}
}

// TestAHostRefusesSharesThatItDoesNotGive attacks a host with assignments that no scheduler makes.
func TestAHostRefusesSharesThatItDoesNotGive(t *testing.T) {
	shares, silent := sharedHost(1), sharedHost(1)
	silent.GPUs.VRAMEnforcement = ""
	whole := ContainerDefinition{Name: "c", ResourceRequirements: []ResourceRequirement{{Type: "GPU", Value: "1"}}}
	holds := func(share *GPUShare, gpus ...string) *Task {
		return &Task{Containers: []Container{{Name: "c", GPUs: gpus, Share: share}}}
	}
	for name, c := range map[string]struct {
		host    *Host
		task    *Task
		asks    ContainerDefinition
		refused bool
	}{
		"what it asks for":                        {shares, holds(&GPUShare{300, 1000, 40}, "gpu0"), asking("c", 300, 40), false},
		"a whole GPU":                             {silent, holds(nil, "gpu0"), whole, false},
		"on a host that enforces nothing":         {silent, holds(&GPUShare{300, 1000, 0}, "gpu0"), asking("c", 300), true},
		"the whole GPU in place of a share":       {shares, holds(nil, "gpu0"), asking("c", 300), true},
		"more memory than it asks for":            {shares, holds(&GPUShare{900, 1000, 0}, "gpu0"), asking("c", 300), true},
		"more threads than it asks for":           {shares, holds(&GPUShare{300, 1000, 90}, "gpu0"), asking("c", 300, 40), true},
		"a share of two GPUs":                     {shares, holds(&GPUShare{300, 1000, 0}, "gpu0", "gpu1"), asking("c", 300), true},
		"a share of none":                         {shares, holds(&GPUShare{300, 1000, 0}), asking("c", 300), true},
		"a share where a whole GPU was asked for": {shares, holds(&GPUShare{300, 1000, 0}, "gpu0"), whole, true},
	} {
		if why := SharingRefusal(c.host, c.task, &TaskDefinition{Containers: []ContainerDefinition{c.asks}}); (why != "") != c.refused {
			t.Errorf("%s: %q", name, why)
		}
	}
}

func TestAGPUThatContainersShareIsOneOfTheTask(t *testing.T) {
	share := &GPUShare{MemoryMiB: 300, TotalMiB: 1000}
	task := &Task{Containers: []Container{{GPUs: []string{"gpu0"}, Share: share}, {GPUs: []string{"gpu0"}, Share: share}, {Share: share}}}
	if got := task.GPUs(); !reflect.DeepEqual(got, []string{"gpu0"}) {
		t.Errorf("%v", got)
	}
}
