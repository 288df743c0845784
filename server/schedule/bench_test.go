package schedule

import (
	"fmt"
	"testing"

	"pinion/raftfsm"
)

// thousand is a busy fleet: eight GPUs a host, of which host i has i%9 taken.
func thousand() []Host {
	var hosts []Host
	for i := range 1000 {
		h := host(fmt.Sprintf("host%04d", i), 8)
		h.Host.CPU, h.Free.CPU = 1<<20, 1<<20
		h.Host.MemoryMiB, h.Free.MemoryMiB = 1<<20, 1<<20
		h.Free.Take(&raftfsm.Task{Containers: []raftfsm.Container{{GPUs: h.Free.GPUs[:i%9]}}})
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
	hosts := thousand()
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				Plan(hosts, c.requests)
			}
		})
	}
}

func repeat(n int, r Request) []Request {
	all := make([]Request, n)
	for i := range all {
		all[i] = r
	}
	return all
}
