package raftfsm

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// BenchmarkApplyLaunches decodes and applies the entries that fill a thousand hosts up to nine tenths, as a busy leader makes them: many
// runs in an entry, ten tasks in a run, all by one access key.
func BenchmarkApplyLaunches(b *testing.B) {
	const (
		hosts, entries, runs, tasks = 1000, 45, 16, 10
		holder                      = "AKIAIOSFODNN7EXAMPLE"
	)
	empty := NewState()
	benchHosts(func(c Command) {
		if _, err := empty.Apply(1, c); err != nil {
			b.Fatal(err)
		}
	}, hosts)
	if _, err := empty.Apply(2, Wrap(credential.Create{Key: accesskey.Key{ID: holder}})); err != nil {
		b.Fatal(err)
	}
	var all [][]byte
	for n := range entries {
		entry := LaunchTasks{Runs: make([]Launch, runs)}
		for i := range entry.Runs {
			first := (n*runs + i) * tasks
			entry.Runs[i] = Launch{Cluster: spec.DefaultCluster, Token: benchTaskID(first), TokenHash: benchTaskID(first + 1), At: epoch}
			for t := first; t < first+tasks; t++ {
				entry.Runs[i].Tasks = append(entry.Runs[i].Tasks, newBenchTask(t, holder))
			}
		}
		encoded, err := Encode(entry)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, encoded)
	}
	b.ReportAllocs()
	begin := ownCPU()
	for b.Loop() {
		state := Fork(empty.View())
		for i, entry := range all {
			command, err := Decode(entry)
			if err != nil {
				b.Fatal(err)
			}
			answer, err := state.Apply(uint64(3+i), command)
			if err != nil {
				b.Fatal(err)
			}
			if results := answer.([]LaunchResult); len(results[0].Result.Tasks) != tasks {
				b.Fatalf("%+v", results[0])
			}
		}
	}
	b.ReportMetric(float64((ownCPU()-begin).Nanoseconds())/float64(b.N*entries*runs*tasks), "CPU-ns/placement")
}

// ownCPU is the CPU time that this process has used: on a machine that others use too, that says more than how long it took.
func ownCPU() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// newBenchTask is the n-th task as it is placed, eight on each host.
func newBenchTask(n int, holder string) *spec.Task {
	t := benchTask(n)
	t.LastStatus, t.Version, t.Times = spec.Pending, 1, spec.TaskTimes{}
	t.Owner, t.Run = &spec.TaskOwner{Key: holder}, benchTaskID(n/10*10)
	c := &t.Containers[0]
	c.LastStatus, c.RuntimeID, c.ImageDigest = spec.Pending, "", ""
	t.Overrides = spec.Box(spec.TaskOverride{})
	return t
}
