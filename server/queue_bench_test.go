package server

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// newBenchServer is a server with so many hosts of eight GPUs, none of which is heard of, and so many tasks that wait for one.
func newBenchServer(b *testing.B, hosts, tasks int) (s *Server, hear func()) {
	var c clock
	cfg := config(b.TempDir())
	cfg.Now = c.now
	s = start(b, cfg)
	var ids []string
	var all sync.WaitGroup
	for i := range hosts {
		id := fmt.Sprintf("%032x", i)
		ids = append(ids, id)
		if i%64 == 0 {
			all.Wait()
		}
		all.Go(func() {
			inventory := gpu.Inventory{Simulated: true}
			for g := range 8 {
				inventory.Devices = append(inventory.Devices, gpu.Device{UUID: fmt.Sprintf("GPU-%s-%d", id, g), Index: g, Health: gpu.Healthy})
			}
			host := spec.Host{ID: id, Name: id, Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: 1 << 17, MemoryMiB: 1 << 20, GPUs: inventory}
			if _, err := s.Propose(b.Context(), raftfsm.PutHost{Host: host}); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	c.pass(5 * time.Second)
	request := queuedRun(define(b, s, 1))
	for request.Count = 1000; tasks > 0; tasks -= request.Count {
		run(b.Context(), b, s, request)
	}
	return s, func() {
		for _, id := range ids {
			s.liveness.Record(id)
		}
	}
}

// cpuTime is what this process has used: on a machine that others use too it says more than the clock.
func cpuTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkDrain gives 100,000 tasks that wait their places, all at once.
func BenchmarkDrain(b *testing.B) {
	const tasks = 100_000
	for range b.N {
		b.StopTimer()
		s, hear := newBenchServer(b, tasks/8, tasks)
		b.StartTimer()
		view, begin, used := s.state.View(), time.Now(), cpuTime()
		mark, waiting := raftfsm.PositionAfter(view.Index()), len(slices.Collect(view.QueuedTasks("")))
		hear()
		for placed := 0; placed < waiting; {
			changes, more, err := s.state.Changes(mark, 10_000)
			if err != nil {
				b.Fatal(err)
			}
			if len(changes) == 0 {
				<-more
				continue
			}
			placed, mark = placed+len(changes), changes[len(changes)-1].Position
		}
		b.ReportMetric(float64(waiting)/time.Since(begin).Seconds(), "tasks/s")
		b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(waiting), "CPU-µs/task")
	}
}

// BenchmarkFreedGPU is how long a freed GPU waits for the first of 100,000 tasks.
func BenchmarkFreedGPU(b *testing.B) {
	const hosts = 1000
	s, hear := newBenchServer(b, hosts, hosts*8+100_000)
	hear()
	until(b, s, func(v *raftfsm.View) bool {
		return len(v.Free(fmt.Sprintf("%032x", 0)).GPUs) == 0 && placedTasks(v) == hosts*8
	})
	var ids []string
	for _, task := range s.state.View().Tasks("") {
		if task.HostID != "" {
			ids = append(ids, task.ID)
		}
	}
	var took []time.Duration
	b.ResetTimer()
	for i := range b.N {
		task := s.state.View().Task(ids[i%len(ids)])
		begin := time.Now()
		report := spec.TaskReport{TaskID: task.ID, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: s.cfg.Now()}}
		if _, err := s.Report(b.Context(), task.HostID, []spec.TaskReport{report}); err != nil {
			b.Fatal(err)
		}
		until(b, s, func(v *raftfsm.View) bool { return len(v.Free(task.HostID).GPUs) == 0 })
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

func placedTasks(v *raftfsm.View) (n int) {
	for _, host := range v.Hosts("") {
		n += len(v.TasksOn(host.ID))
	}
	return n
}

// BenchmarkQueue lists 100,000 tasks that wait, which no host of 1,000 could ever run.
func BenchmarkQueue(b *testing.B) {
	s, _ := newBenchServer(b, 1000, 0)
	request := queuedRun(define(b, s, 9))
	request.Count = 1000
	for range 100 {
		run(b.Context(), b, s, request)
	}
	for b.Loop() {
		if list, err := s.Queue(b.Context(), ""); err != nil || len(list) != 100_000 || list[0].Infeasible == nil {
			b.Fatal(len(list), err)
		}
	}
}
