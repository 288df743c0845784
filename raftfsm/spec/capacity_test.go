package spec

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/hostport"
)

func drawPorts(t *rapid.T, name string) (taken hostport.Set) {
	taken.Add(rapid.SliceOfN(rapid.IntRange(80, 84), 0, 3).Draw(t, name))
	return taken
}

func drawCapacity(t *rapid.T) Capacity {
	return Capacity{
		CPU:       rapid.Int64Range(-2, 12).Draw(t, "CPU"),
		MemoryMiB: rapid.Int64Range(-2, 12).Draw(t, "memory"),
		GPUs:      rapid.IntRange(0, 8).Draw(t, "GPUs"),
		Ports:     drawPorts(t, "taken ports"),
		UDPPorts:  drawPorts(t, "taken UDP ports"),
	}
}

func drawDemand(t *rapid.T) Demand {
	return Demand{
		CPU:       rapid.Int64Range(-1, 5).Draw(t, "needs CPU"),
		MemoryMiB: rapid.Int64Range(-1, 5).Draw(t, "needs memory"),
		Ports:     rapid.SliceOfN(rapid.IntRange(80, 84), 0, 2).Draw(t, "ports"),
		UDPPorts:  rapid.SliceOfN(rapid.IntRange(80, 84), 0, 2).Draw(t, "UDP ports"),
		GPUs:      rapid.SliceOfN(rapid.IntRange(0, 3), 0, 2).Draw(t, "needs GPUs"),
	}
}

func TestSlotsIsHowOftenADemandFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, d := drawCapacity(t), drawDemand(t)
		takeOneByOne(t, &c, &d)
	})
}

// takeOneByOne takes the demand off the capacity as often as it fits, up to a limit that it draws, and returns what is left. Slots has to say how
// often that is, and Subtract to leave the same at once.
func takeOneByOne(t *rapid.T, c *Capacity, d *Demand) (left Capacity) {
	limit, fitted := rapid.IntRange(0, 6).Draw(t, "limit"), 0
	for left = *c; fitted < limit; fitted++ {
		if _, fits := left.Fits(d); !fits {
			break
		}
		left = left.Subtract(d, 1)
	}
	if slots := c.Slots(d, limit); slots != fitted {
		t.Fatalf("%d slots, it fits %d times", slots, fitted)
	}
	if at := c.Subtract(d, fitted); !reflect.DeepEqual(at, left) {
		t.Fatalf("%d at once leave %+v, one by one %+v", fitted, at, left)
	}
	return left
}

func TestADemandFitsWhenNothingIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, d := drawCapacity(t), drawDemand(t)
		missing := slices.Collect(c.Shortfalls(&d))
		lack, fits := c.Fits(&d)
		if fits != (len(missing) == 0) || !fits && lack != missing[0] {
			t.Fatalf("fits %v, first %+v, all %+v", fits, lack, missing)
		}
		order := []string{ReasonCPU, ReasonMemory, ReasonPorts, ReasonGPU}
		if !slices.IsSortedFunc(missing, func(a, b Shortfall) int {
			return slices.Index(order, a.Reason) - slices.Index(order, b.Reason)
		}) {
			t.Fatalf("not in ECS's order: %+v", missing)
		}
	})
}

// TestAnEndedTaskGivesBackWhatItTook: what Free loses to a task is what its capacity gains when the task ends.
func TestAnEndedTaskGivesBackWhatItTook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := fourGPUs("h")
		task := holder("t", "h", host.GPUs.Devices[rapid.IntRange(0, 3).Draw(t, "GPU")].UUID)
		task.Ports = rapid.SliceOfNDistinct(rapid.IntRange(80, 84), 0, 2, rapid.ID[int]).Draw(t, "ports")
		empty, busy := NewFree(&host, nil), NewFree(&host, []*Task{task})
		before, after := empty.Capacity(), busy.Capacity()
		if after = after.Add(&host, task); !reflect.DeepEqual(after, before) {
			t.Fatalf("%+v, was %+v", after, before)
		}
	})
}

// TestWhatIsHeldIsEnough: whatever else takes what is not held, n tasks of the demand fit later.
func TestWhatIsHeldIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now, d, n := drawCapacity(t), drawDemand(t), rapid.IntRange(1, 4).Draw(t, "tasks")
		d.CPU, d.MemoryMiB, d.Ports, d.UDPPorts = max(0, d.CPU), max(0, d.MemoryMiB), nil, nil
		later := now
		later.CPU = max(now.CPU, int64(n)*d.CPU) + rapid.Int64Range(0, 3).Draw(t, "CPU to spare")
		later.MemoryMiB = max(now.MemoryMiB, int64(n)*d.MemoryMiB) + rapid.Int64Range(0, 3).Draw(t, "memory to spare")
		later.GPUs = max(now.GPUs, n*d.TotalGPUs()) + rapid.IntRange(0, 3).Draw(t, "GPUs to spare")
		held := now.Hold(&d, n, &later)
		taken := func(free, held int64) int64 { return max(0, free-held) }
		later.CPU -= taken(now.CPU, held.CPU)
		later.MemoryMiB -= taken(now.MemoryMiB, held.MemoryMiB)
		later.GPUs -= int(taken(int64(now.GPUs), int64(held.TotalGPUs())))
		if slots := later.Slots(&d, n); slots < n {
			t.Fatalf("held %+v of %+v: %d of %d tasks fit later", held, now, slots, n)
		}
	})
}
