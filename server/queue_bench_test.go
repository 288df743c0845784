package server

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// newBenchServer is a server with so many hosts of eight GPUs, none of which is heard of.
func newBenchServer(b *testing.B, hosts int) *Server {
	var c clock
	cfg := config(b.TempDir())
	cfg.Now = c.now
	s := start(b, cfg)
	var all sync.WaitGroup
	for i := range hosts {
		id := fmt.Sprintf("%032x", i)
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
	return s
}

// BenchmarkQueue lists 100,000 tasks that wait, which no host of 1,000 could ever run.
func BenchmarkQueue(b *testing.B) {
	s := newBenchServer(b, 1000)
	request := queuedRun(define(b, s, 9))
	request.Count = 1000
	for range 100 {
		run(b.Context(), b, s, request)
	}
	for b.Loop() {
		if list, err := s.scheduler.Queue(b.Context(), ""); err != nil || len(list) != 100_000 || list[0].Infeasible == nil {
			b.Fatal(len(list), err)
		}
	}
}
