package raftfsm

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

var runningTasks = flag.Int("tasks", 100_000, "how many tasks run in the state of BenchmarkRunningTasks; a million need 6 GB")

// launchSize is how many tasks one entry records.
const launchSize = 1000

// BenchmarkRunningTasks weighs a state of many running tasks on hosts of eight GPUs, and times its snapshot, what that keeps
// commands from, and its restoration.
func BenchmarkRunningTasks(b *testing.B) {
	tasks := *runningTasks
	for b.Loop() {
		state, index := NewState(), uint64(0)
		propose := func(c Command) { // as it comes out of the log
			index++
			entry, err := Encode(c)
			if err == nil {
				c, err = Decode(entry)
			}
			if err == nil {
				_, err = state.Apply(index, c)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		benchHosts(propose, tasks/8)
		before := liveHeap()
		benchTasks(propose, tasks)
		b.ReportMetric(float64(liveHeap()-before)/float64(tasks), "heap-B/task")
		path := filepath.Join(b.TempDir(), "snapshot")
		size, longest, write := snapshotBeside(b, state, path, func() {
			propose(CreateCluster{Cluster: spec.Cluster{Name: fmt.Sprint("c", index%100)}})
		})
		b.ReportMetric(float64(size)/float64(tasks), "snapshot-B/task")
		b.ReportMetric(float64(write.Nanoseconds()), "write-ns")
		b.ReportMetric(float64(longest.Nanoseconds()), "longest-apply-ns")
		state = NewState()
		runtime.GC()
		b.ReportMetric(float64(restoreFrom(b, state, path).Nanoseconds()), "restore-ns")
	}
}

// liveHeap is what a garbage collection leaves.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// benchHosts records hosts of eight GPUs. What is weighed are tasks, so nothing is said of how the GPUs are linked.
func benchHosts(propose func(Command), hosts int) {
	propose(CreatePool{Pool: spec.Pool{ID: "bench"}})
	propose(RegisterDefinition{Definition: spec.TaskDefinition{
		Family: "bench", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "main", Image: "pinion/self"}},
	}})
	for i := range hosts {
		host := spec.Host{ID: scatteredID(1, i), Cluster: spec.DefaultCluster, CPU: 128 << 10, MemoryMiB: 1 << 20}
		for d := range 8 {
			host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: benchGPU(i, d), Index: d, Health: gpu.Healthy})
		}
		propose(PutHost{Host: host})
	}
}

// benchTasks records tasks that run, eight on each host.
func benchTasks(propose func(Command), tasks int) {
	for first := 0; first < tasks; first += launchSize {
		run := Launch{Cluster: spec.DefaultCluster, At: time.Now()}
		for n := first; n < min(first+launchSize, tasks); n++ {
			run.Tasks = append(run.Tasks, benchTask(n))
		}
		propose(LaunchTasks{Runs: []Launch{run}})
	}
}

// scatteredID is the n-th id of a kind: 32 hex digits as if drawn by chance, the same in each run. It decides how the trees of
// the state are laid out.
func scatteredID(kind, n int) string {
	chance := rand.NewPCG(uint64(kind), uint64(n))
	return fmt.Sprintf("%016x%016x", chance.Uint64(), chance.Uint64())
}

// benchTaskID is the id of the n-th task in the form that servers give: four digits that go on with time, four that are
// scattered, and chance.
func benchTaskID(n int) string {
	const tasksATick, scatter = 2000, 40503
	return fmt.Sprintf("%04x%04x", uint16(n/tasksATick), uint16(n*scatter)) + scatteredID(2, n)[8:]
}

func benchGPU(host, device int) string {
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", host, device)
}

func benchTask(n int) *spec.Task {
	host, device := n/8, n%8
	return &spec.Task{
		ID: benchTaskID(n), Cluster: spec.DefaultCluster, Definition: "bench:1", HostID: scatteredID(1, host), Group: "family:bench",
		LaunchType: "EC2", CPU: 1024, MemoryMiB: 1024, LastStatus: spec.Running, DesiredStatus: spec.Running, Version: 3, CreatedAt: time.Now(),
		Times:     spec.TaskTimes{PullStarted: time.Now(), PullStopped: time.Now(), Started: time.Now()},
		Overrides: spec.Box(spec.TaskOverride{Containers: []spec.ContainerOverride{{Name: "main"}}}),
		Containers: []spec.Container{{ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", n), Name: "main", Image: "pinion/self",
			GPUs: []string{benchGPU(host, device)}, LastStatus: spec.Running, RuntimeID: benchTaskID(n) + "-main",
			ImageDigest: fmt.Sprintf("sha256:%064x", 1)}},
	}
}

// snapshotBeside writes a snapshot while a command is applied again and again, and returns its size, the longest that one
// command took, and how long the snapshot did.
func snapshotBeside(b *testing.B, state *State, path string, command func()) (size int64, longest, took time.Duration) {
	b.Helper()
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	written := make(chan error, 1)
	begin := time.Now()
	go func() { written <- state.View().WriteSnapshot(file) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-written:
			took = time.Since(begin)
			if err != nil {
				b.Fatal(err)
			}
			info, err := file.Stat()
			if err != nil {
				b.Fatal(err)
			}
			return info.Size(), longest, took
		case <-tick.C:
			at := time.Now()
			command()
			longest = max(longest, time.Since(at))
		}
	}
}

func restoreFrom(b *testing.B, state *State, path string) time.Duration {
	b.Helper()
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	begin := time.Now()
	if err := state.Restore(file); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}
