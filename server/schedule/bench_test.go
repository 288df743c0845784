package schedule

import (
	"fmt"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// thousandHosts is a busy fleet: eight GPUs a host, of which host i has i%9 taken.
func thousandHosts() []Host {
	var hosts []Host
	for i := range 1000 {
		h := host(fmt.Sprintf("host%04d", i), 8)
		h.Host.CPU, h.Free.CPU = 1<<20, 1<<20
		h.Host.MemoryMiB, h.Free.MemoryMiB = 1<<20, 1<<20
		h.Free.Take(&spec.Task{Containers: []spec.Container{{GPUs: h.Free.GPUs[:i%9]}}})
		hosts = append(hosts, h)
	}
	return hosts
}

func BenchmarkPlanOnAThousandHosts(b *testing.B) {
	cases := []struct {
		name     string
		requests []Request
	}{
		{"1 request", repeat(1, request(1, 1))},
		{"1 request of 10 tasks of 4 GPUs", repeat(1, request(10, 4))},
		{"1 request that fits nowhere", repeat(1, request(1, 9))},
		{"100 requests", repeat(100, request(1, 1))},
	}
	hosts := thousandHosts()
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				PlanOn(hosts, c.requests)
			}
		})
	}
}

// BenchmarkFleet plans tasks one by one on ten thousand hosts of eight GPUs, and takes them back when nine tenths are taken.
func BenchmarkFleet(b *testing.B) {
	for _, hosts := range []int{1_000, 10_000} {
		for _, gpus := range []int{0, 1, 4} {
			b.Run(fmt.Sprintf("%d hosts, %d GPUs a task", hosts, gpus), func(b *testing.B) { benchFleet(b, hosts, gpus) })
		}
	}
}

func benchFleet(b *testing.B, hosts, gpus int) {
	f := NewHostSet()
	for i := range hosts {
		h := host(fmt.Sprintf("host%05d", i), 8)
		h.Host.CPU, h.Host.MemoryMiB = 1<<20, 1<<20
		linkAll(h.Host.GPUs.Devices)
		f.PutHost(h.Host, true)
	}
	r := request(1, gpus)
	next := 0
	r.IDs = func() string { next++; return fmt.Sprintf("%032x", next) }
	var running []*spec.Task
	planned := 0
	for b.Loop() {
		tasks := f.Plan([]Request{r})[0].Tasks
		running, planned = append(running, tasks...), planned+len(tasks)
		if len(running) == hosts*8*9/10/max(gpus, 1) {
			b.StopTimer()
			for _, task := range running {
				f.DropTask(task)
			}
			running = nil
			b.StartTimer()
		}
	}
	b.ReportMetric(float64(planned)/b.Elapsed().Seconds(), "placements/s")
}

// linkAll puts an NVLink between all GPUs of a host.
func linkAll(devices []gpu.Device) {
	for i := range devices {
		for peer := range devices {
			if peer != i {
				devices[i].Links += gpu.PackLinks(gpu.Link{Peer: devices[peer].UUID, Kind: gpu.LinkNVLink, Lanes: 18})
			}
		}
	}
}

// BenchmarkKind plans tasks that wait one by one, all of one kind, on ten thousand hosts.
func BenchmarkKind(b *testing.B) {
	const hosts = 10_000
	f := NewHostSet()
	for i := range hosts {
		h := host(fmt.Sprintf("host%05d", i), 8)
		h.Host.CPU, h.Host.MemoryMiB = 1<<20, 1<<20
		f.PutHost(h.Host, true)
	}
	r := request(hosts*8*9/10, 1)
	waiting, kind, at := NewPendingTasks(r), TemplateOf(r), 0
	planned := make([]*spec.Task, 0, len(waiting))
	b.ReportAllocs()
	for b.Loop() {
		if at == len(waiting) {
			b.StopTimer()
			for _, task := range planned {
				f.DropTask(task)
			}
			planned, at = planned[:0], 0
			b.StartTimer()
		}
		planned = append(planned, f.PlanFor(kind, waiting[at:at+1], 0).Tasks...)
		at++
	}
}

// BenchmarkFleetOfManyShapes is BenchmarkFleet with tasks of fifty shapes, of which each changes what all others find.
func BenchmarkFleetOfManyShapes(b *testing.B) {
	f, next := NewHostSet(), 0
	for i := range 10_000 {
		h := host(fmt.Sprintf("host%05d", i), 8)
		h.Host.CPU, h.Host.MemoryMiB = 1<<20, 1<<20
		f.PutHost(h.Host, true)
	}
	requests := make([]Request, 50)
	for i := range requests {
		requests[i] = request(1, i%4)
		requests[i].Definition.Containers[0].CPU = int64(100 + i)
		requests[i].IDs = func() string { next++; return fmt.Sprintf("%032x", next) }
	}
	var running []*spec.Task
	for i := 0; b.Loop(); i++ {
		running = append(running, f.Plan(requests[i%50 : i%50+1])[0].Tasks...)
		if i >= 20_000 {
			f.DropTask(running[i-20_000])
		}
	}
}

func repeat(n int, r Request) []Request {
	all := make([]Request, n)
	for i := range all {
		all[i] = r
	}
	return all
}

// BenchmarkGang plans gangs of tasks of eight GPUs on ten thousand hosts in fabrics of 256, and takes them back.
func BenchmarkGang(b *testing.B) {
	f := NewHostSet()
	for i := range 10_000 {
		h := host(fmt.Sprintf("host%05d", i), 8, in(fmt.Sprint("fabric", i/256), fmt.Sprint("rack", i/16)))
		f.PutHost(h.Host, true)
	}
	for _, size := range []int{8, 64, 1000} {
		b.Run(fmt.Sprintf("%d tasks", size), func(b *testing.B) {
			for b.Loop() {
				r := gangOf(size, 8)
				decision := f.Plan([]Request{r})[0]
				if len(decision.Tasks) != size {
					b.Fatalf("%+v", decision.Failures[:1])
				}
				for _, task := range decision.Tasks {
					f.DropTask(task)
				}
			}
		})
	}
}
