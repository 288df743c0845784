package pack

import (
	"math/rand"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyHosts are a few hosts of two models.
func anyHosts(t *rapid.T) []Host {
	hosts := make([]Host, rapid.IntRange(1, 6).Draw(t, "hosts"))
	for i := range hosts {
		free := make([]int, rapid.IntRange(0, 8).Draw(t, "gpus"))
		for g := range free {
			free[g] = Whole
		}
		hosts[i] = Host{
			CPU: 1000 * rapid.Int64Range(0, 96).Draw(t, "cpu"), MemoryMiB: rapid.Int64Range(0, 1<<18).Draw(t, "memory"),
			Free: free, Model: rapid.SampledFrom([]string{"T4", "V100"}).Draw(t, "model"),
		}
	}
	return hosts
}

func anyShape(t *rapid.T) Shape {
	s := Shape{
		CPU: 500 * rapid.Int64Range(0, 40).Draw(t, "cores"), MemoryMiB: rapid.Int64Range(0, 1<<15).Draw(t, "asked memory"),
		GPUs: rapid.SampledFrom([]int{0, 1, 1, 1, 2, 4}).Draw(t, "asked gpus"),
	}
	if s.GPUs > 0 {
		s.Milli, s.Models = Whole, rapid.SampledFrom([]string{"", "", "T4", "V100|A10"}).Draw(t, "models")
	}
	if s.GPUs == 1 {
		s.Milli = rapid.SampledFrom([]int{100, 470, 810, Whole}).Draw(t, "milli")
	}
	return s
}

func copyOf(hosts []Host) []Host {
	copied := slices.Clone(hosts)
	for i := range copied {
		copied[i].Free = slices.Clone(copied[i].Free)
	}
	return copied
}

type placed struct {
	shape Shape
	host  int
	gpus  []int
}

// TestNoPolicyEverGivesWhatIsNotFree places and removes at random, and keeps its own books.
func TestNoPolicyEverGivesWhatIsNotFree(t *testing.T) {
	for _, name := range Names {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { keepBooks(t, name) })
		})
	}
}

func keepBooks(t *rapid.T, name string) {
	hosts := anyHosts(t)
	shapes := rapid.SliceOfN(rapid.Custom(anyShape), 1, 8).Draw(t, "shapes")
	policy, err := New(name, shapes, rand.New(rand.NewSource(1)).Intn)
	if err != nil {
		t.Fatal(err)
	}
	books, packer := copyOf(hosts), NewPacker(hosts, policy)
	var running []placed
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		if len(running) > 0 && rapid.IntRange(0, 3).Draw(t, "step") == 0 {
			i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
			r := running[i]
			packer.Remove(r.shape, r.host, r.gpus)
			books[r.host].release(&r.shape, r.gpus)
			running = slices.Delete(running, i, i+1)
			continue
		}
		s := rapid.SampledFrom(shapes).Draw(t, "shape")
		fits := slices.ContainsFunc(books, func(h Host) bool { return h.Fits(&s) })
		host, gpus, ok := packer.Place(s)
		if ok != fits {
			t.Fatalf("%+v was placed: %v; it fits somewhere: %v", s, ok, fits)
		}
		if !ok {
			continue
		}
		note(t, &books[host], &s, gpus)
		running = append(running, placed{s, host, gpus})
	}
	for i, h := range packer.Hosts() {
		if h.CPU != books[i].CPU || h.MemoryMiB != books[i].MemoryMiB || !slices.Equal(h.Free, books[i].Free) {
			t.Fatalf("host %d has %+v free, by the books it is %+v", i, h, books[i])
		}
	}
}

// note takes what was given off the books, GPU by GPU.
func note(t *rapid.T, h *Host, s *Shape, gpus []int) {
	if !h.Fits(s) || len(gpus) != s.GPUs {
		t.Fatalf("%+v was put on %+v, with GPUs %v", s, h, gpus)
	}
	h.CPU -= s.CPU
	h.MemoryMiB -= s.MemoryMiB
	if s.GPUs > 0 {
		h.tasks[kind(s)]++
	}
	for _, gpu := range gpus {
		if h.Free[gpu] -= s.Milli; h.Free[gpu] < 0 {
			t.Fatalf("GPU %d is over-committed by %d", gpu, -h.Free[gpu])
		}
	}
}

// TestScoresThatAreKeptAreThoseAskedAnew compares with a packer that remembers nothing.
func TestScoresThatAreKeptAreThoseAskedAnew(t *testing.T) {
	for _, name := range []string{"default", "fgd", "packing"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				hosts := anyHosts(t)
				shapes := rapid.SliceOfN(rapid.Custom(anyShape), 1, 8).Draw(t, "shapes")
				kept, _ := New(name, shapes, nil)
				anew, _ := New(name, shapes, nil)
				a, b := NewPacker(copyOf(hosts), kept), NewPacker(hosts, anew)
				for _, s := range rapid.SliceOfN(rapid.SampledFrom(shapes), 1, 60).Draw(t, "tasks") {
					b.rankings = map[Shape]*ranking{}
					hostA, gpusA, okA := a.Place(s)
					hostB, gpusB, okB := b.Place(s)
					if hostA != hostB || okA != okB || !slices.Equal(gpusA, gpusB) {
						t.Fatalf("%+v: host %d GPUs %v (%v), anew it is host %d GPUs %v (%v)", s, hostA, gpusA, okA, hostB, gpusB, okB)
					}
				}
			})
		})
	}
}
