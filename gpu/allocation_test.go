package gpu_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pinion/gpu"
)

// holding is a container of a random history and what it has of a GPU; the whole when mib is 0.
type holding struct {
	uuid string
	mib  int64
}

func devicesOf(n int, mib int64) (all []gpu.Device) {
	for i := range n {
		all = append(all, gpu.Device{UUID: fmt.Sprintf("GPU-%d", i), Index: i, MemoryMiB: mib, Health: gpu.Healthy})
	}
	return all
}

func TestNoGPUIsOverCommittedOrInTwoModes(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		allocations := gpu.NewAllocations(devicesOf(4, 1000), true, false)
		var held []holding
		for range 200 {
			if len(held) > 0 && random.IntN(2) == 0 {
				at := random.IntN(len(held))
				giveBack(allocations, held[at])
				held = append(held[:at], held[at+1:]...)
			} else if h, given := take(allocations, random); given {
				held = append(held, h)
			}
			checkAllocations(t, allocations, held)
		}
		for _, h := range held {
			giveBack(allocations, h)
		}
		checkAllocations(t, allocations, nil)
	}
}

func take(allocations gpu.Allocations, random *rand.Rand) (h holding, given bool) {
	a := &allocations[random.IntN(len(allocations))]
	if random.IntN(3) == 0 {
		return holding{uuid: a.UUID}, a.AllocateWhole()
	}
	h = holding{a.UUID, 1 + random.Int64N(600)}
	return h, a.Shares(h.mib, 1) == 1 && a.AllocateShare(h.mib)
}

func giveBack(allocations gpu.Allocations, h holding) {
	if a := allocations.Find(h.uuid); h.mib == 0 {
		a.ReleaseWhole()
	} else {
		a.ReleaseShare(h.mib)
	}
}

// checkAllocations compares the allocations with what the containers have.
func checkAllocations(t *testing.T, allocations gpu.Allocations, held []holding) {
	t.Helper()
	whole, shares, mib := map[string]int{}, map[string]int{}, map[string]int64{}
	for _, h := range held {
		if h.mib == 0 {
			whole[h.uuid]++
		} else {
			shares[h.uuid]++
			mib[h.uuid] += h.mib
		}
	}
	for i := range allocations {
		a := &allocations[i]
		want, remaining := gpu.ModeIdle, a.TotalMiB-mib[a.UUID]
		switch {
		case whole[a.UUID] > 0:
			want, remaining = gpu.ModeDedicated, 0
		case shares[a.UUID] > 0:
			want = gpu.ModeMPS
		}
		if whole[a.UUID] > 1 || whole[a.UUID]+min(1, shares[a.UUID]) > 1 || mib[a.UUID] > a.TotalMiB {
			t.Fatalf("%s is given as a whole %d times and in %d shares of %d MiB", a.UUID, whole[a.UUID], shares[a.UUID], mib[a.UUID])
		}
		if a.Mode() != want || a.RemainingMiB() != remaining || a.Containers() != whole[a.UUID]+shares[a.UUID] || a.Idle() != (want == gpu.ModeIdle) {
			t.Fatalf("%+v, want mode %s with %d MiB left", *a, want, remaining)
		}
	}
}

func TestSharesAreOfferedWhereTheyAreEnforced(t *testing.T) {
	sick, sliced, unified := devicesOf(1, 1000), devicesOf(1, 1000), devicesOf(1, 0)
	sick[0].Health, sliced[0].MIGDevice = gpu.Unhealthy, &gpu.MIGDevice{Profile: "1g.10gb"}
	for name, c := range map[string]struct {
		allocations  gpu.Allocations
		shares, idle int
	}{
		"healthy GPUs":                 {gpu.NewAllocations(devicesOf(2, 1000), true, false), 6, 2},
		"a host that enforces nothing": {gpu.NewAllocations(devicesOf(2, 1000), false, false), 0, 2},
		"a sick GPU":                   {gpu.NewAllocations(sick, true, false), 0, 0},
		"a sick GPU, healthy or not":   {gpu.NewAllocations(sick, true, true), 3, 1},
		"MIG":                          {gpu.NewAllocations(sliced, true, false), 0, 1},
		"memory of the system":         {gpu.NewAllocations(unified, true, false), 0, 1},
	} {
		if shares, idle := c.allocations.Shares(300, 100), c.allocations.Idle(); shares != c.shares || idle != c.idle {
			t.Errorf("%s: %d shares and %d idle GPUs, want %d and %d", name, shares, idle, c.shares, c.idle)
		}
	}
}

func TestShareGoesToTheFullestSharedGPU(t *testing.T) {
	allocations := gpu.NewAllocations(devicesOf(4, 1000), true, false)
	if allocations.MostAllocated(100) != nil {
		t.Error("an idle GPU is no shared one")
	}
	allocations[0].AllocateShare(200)
	allocations[1].AllocateShare(700)
	allocations[2].AllocateWhole()
	for mib, want := range map[int64]string{300: "GPU-1", 301: "GPU-0"} {
		if a := allocations.MostAllocated(mib); a == nil || a.UUID != want {
			t.Errorf("%d MiB go to %+v, want %s", mib, a, want)
		}
	}
	if a := allocations.MostAllocated(900); a != nil {
		t.Errorf("900 MiB go to %+v, and fit on no shared GPU", a)
	}
	if largest := allocations.LargestShareMiB(); largest != 1000 {
		t.Errorf("the largest share is %d MiB, want 1000", largest)
	}
}
