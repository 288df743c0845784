package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

const (
	// stateTasks run in the state that is weighed, written down and read back, on so many hosts of eight GPUs.
	stateTasks = 1_000_000
	stateHosts = stateTasks / 8
	// stateLaunch is how many are recorded by one entry.
	stateLaunch = 1000
)

// measureState weighs a state of many running tasks, and times its snapshot, what that keeps commands from, and its
// restoration.
func measureState(_ context.Context, _ options) ([]figure, error) {
	state, index := raftfsm.NewState(), uint64(0)
	record := func(c raftfsm.Command) error { // as it comes out of the log
		index++
		entry, err := raftfsm.Encode(c)
		if err != nil {
			return err
		}
		if c, err = raftfsm.Decode(entry); err != nil {
			return err
		}
		_, err = state.Apply(index, c)
		return err
	}
	if err := recordHosts(record); err != nil {
		return nil, err
	}
	before := heap()
	if err := recordTasks(record); err != nil {
		return nil, err
	}
	after := heap()
	dir, err := os.MkdirTemp("", "pinion-bench-state-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "snapshot")
	wrote, longest, size, err := writeBeside(state, path, func() error {
		return record(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: fmt.Sprint("c", index%100)}})
	})
	if err != nil {
		return nil, err
	}
	state = raftfsm.NewState()
	runtime.GC()
	read, err := readState(state, path)
	return []figure{
		{fmt.Sprintf("state: heap for each of %d running tasks", stateTasks), fmt.Sprintf("%d B", (after-before)/stateTasks), fmt.Sprintf("%d B in the snapshot", size/stateTasks), "at most 1500 B"},
		{fmt.Sprintf("state: snapshot of them and their %d hosts", stateHosts), ms(wrote), "-", "at most 10 s"},
		{"state: longest apply meanwhile", ms(longest), "-", "at most 50 ms"},
		{"state: restored from it", ms(read), "-", "at most 10 s"},
	}, err
}

// heap is what lives on it.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// recordHosts records hosts of eight GPUs. What is weighed are tasks, so nothing is said of how the GPUs are linked.
func recordHosts(record func(raftfsm.Command) error) error {
	definition := spec.TaskDefinition{Family: "bench", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "main", Image: "pinion/self"}}}
	if err := record(raftfsm.CreatePool{Pool: spec.Pool{ID: "bench"}}); err != nil {
		return err
	}
	if err := record(raftfsm.RegisterDefinition{Definition: definition}); err != nil {
		return err
	}
	for i := range stateHosts {
		host := spec.Host{ID: hostID(i), Cluster: spec.DefaultCluster, CPU: 128 << 10, MemoryMiB: 1 << 20}
		for d := range 8 {
			host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: stateGPU(i, d), Index: d, Health: gpu.Healthy})
		}
		if err := record(raftfsm.PutHost{Host: host}); err != nil {
			return err
		}
	}
	return nil
}

// recordTasks records tasks that run, eight on each host.
func recordTasks(record func(raftfsm.Command) error) error {
	for first := 0; first < stateTasks; first += stateLaunch {
		run := raftfsm.Launch{Cluster: spec.DefaultCluster, At: time.Now()}
		for n := first; n < first+stateLaunch; n++ {
			run.Tasks = append(run.Tasks, stateTask(n))
		}
		if err := record(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{run}}); err != nil {
			return err
		}
	}
	return nil
}

func stateGPU(host, device int) string {
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", host, device)
}

func stateTask(n int) *spec.Task {
	host, device := n/8, n%8
	return &spec.Task{
		ID: taskID(n), Cluster: spec.DefaultCluster, Definition: "bench:1", HostID: hostID(host), Group: "family:bench",
		LaunchType: "EC2", CPU: 1024, MemoryMiB: 1024, LastStatus: spec.Running, DesiredStatus: spec.Running, Version: 3, CreatedAt: time.Now(),
		Times:     spec.TaskTimes{PullStarted: time.Now(), PullStopped: time.Now(), Started: time.Now()},
		Overrides: spec.TaskOverride{Containers: []spec.ContainerOverride{{Name: "main"}}},
		Containers: []spec.Container{{ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", n), Name: "main", Image: "pinion/self",
			GPUs: []string{stateGPU(host, device)}, LastStatus: spec.Running, RuntimeID: taskID(n) + "-main",
			ImageDigest: fmt.Sprintf("sha256:%064x", 1)}},
	}
}

// writeBeside writes a snapshot while a command is carried out again and again, and returns the longest that one took.
func writeBeside(state *raftfsm.State, path string, command func() error) (took, longest time.Duration, size int64, err error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, 0, 0, err
	}
	defer file.Close()
	written := make(chan error, 1)
	begin := time.Now()
	go func() { written <- state.View().WriteSnapshot(file) }()
	for {
		select {
		case err := <-written:
			took = time.Since(begin)
			if err != nil {
				return 0, 0, 0, fmt.Errorf("snapshot: %w", err)
			}
			info, err := file.Stat()
			if err != nil {
				return 0, 0, 0, err
			}
			return took, longest, info.Size(), nil
		default:
		}
		at := time.Now()
		if err := command(); err != nil {
			<-written
			return 0, 0, 0, err
		}
		longest = max(longest, time.Since(at))
		time.Sleep(time.Millisecond)
	}
}

func readState(state *raftfsm.State, path string) (time.Duration, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	begin := time.Now()
	err = state.Restore(file)
	return time.Since(begin), err
}
