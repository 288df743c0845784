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
	apply := func(c raftfsm.Command) (any, error) {
		index++
		return state.Apply(index, c)
	}
	if err := fillState(apply); err != nil {
		return nil, err
	}
	runtime.GC()
	with := heap()
	dir, err := os.MkdirTemp("", "pinion-bench-state-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "snapshot")
	wrote, longest, size, err := writeBeside(state, path, func() error {
		_, err := apply(raftfsm.CreateCluster{Cluster: raftfsm.Cluster{Name: fmt.Sprint("c", index%100)}})
		return err
	})
	if err != nil {
		return nil, err
	}
	runtime.KeepAlive(state)
	state = raftfsm.NewState()
	runtime.GC()
	empty := heap()
	read, err := readState(state, path)
	return []figure{
		{fmt.Sprintf("state: heap for each of %d running tasks", stateTasks), fmt.Sprintf("%d B", (with-empty)/stateTasks), fmt.Sprintf("%d B in the snapshot", size/stateTasks), "at most 1500 B"},
		{"state: snapshot of them", ms(wrote), "-", "at most 10 s"},
		{"state: longest apply meanwhile", ms(longest), "-", "at most 50 ms"},
		{"state: restored from it", ms(read), "-", "at most 10 s"},
	}, err
}

func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// fillState records the hosts and their tasks, which run.
func fillState(apply func(raftfsm.Command) (any, error)) error {
	definition := raftfsm.TaskDefinition{Family: "bench", Status: raftfsm.DefinitionActive, Containers: []raftfsm.ContainerDefinition{{Name: "main", Image: "pinion/self"}}}
	for _, c := range []raftfsm.Command{raftfsm.CreatePool{Pool: raftfsm.Pool{ID: "bench"}}, raftfsm.RegisterDefinition{Definition: definition}} {
		if _, err := apply(c); err != nil {
			return err
		}
	}
	for i := range stateHosts {
		host := raftfsm.Host{ID: fmt.Sprintf("%032x", i), Cluster: raftfsm.DefaultCluster, CPU: 128 << 10, MemoryMiB: 1 << 20}
		for d := range 8 {
			host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: stateGPU(i, d), Index: d, Health: gpu.Healthy})
		}
		if _, err := apply(raftfsm.PutHost{Host: host}); err != nil {
			return err
		}
	}
	for first := 0; first < stateTasks; first += stateLaunch {
		run := raftfsm.Launch{Cluster: raftfsm.DefaultCluster, At: time.Now()}
		for n := first; n < first+stateLaunch; n++ {
			run.Tasks = append(run.Tasks, stateTask(n))
		}
		entry, err := raftfsm.Encode(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{run}}) // as it comes out of the log
		if err != nil {
			return err
		}
		command, err := raftfsm.Decode(entry)
		if err != nil {
			return err
		}
		if _, err := apply(command); err != nil {
			return err
		}
	}
	return nil
}

func stateGPU(host, device int) string {
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", host, device)
}

func stateTask(n int) *raftfsm.Task {
	host, device := n/8, n%8
	return &raftfsm.Task{
		ID: fmt.Sprintf("%032x", n), Cluster: raftfsm.DefaultCluster, Definition: "bench:1", HostID: fmt.Sprintf("%032x", host), Group: "family:bench",
		LaunchType: "EC2", CPU: 1024, MemoryMiB: 1024, LastStatus: raftfsm.Running, DesiredStatus: raftfsm.Running, Version: 3, CreatedAt: time.Now(),
		Times:     raftfsm.TaskTimes{PullStarted: time.Now(), PullStopped: time.Now(), Started: time.Now()},
		Overrides: raftfsm.TaskOverride{Containers: []raftfsm.ContainerOverride{{Name: "main"}}},
		Containers: []raftfsm.Container{{ID: fmt.Sprintf("00000000-0000-4000-8000-%012x", n), Name: "main", Image: "pinion/self",
			GPUs: []string{stateGPU(host, device)}, LastStatus: raftfsm.Running, RuntimeID: fmt.Sprintf("%032x-main", n),
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
			info, statErr := file.Stat()
			if err != nil || statErr != nil {
				return 0, 0, 0, fmt.Errorf("snapshot: %w, %w", err, statErr)
			}
			return took, longest, info.Size(), nil
		default:
		}
		at := time.Now()
		if err := command(); err != nil {
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
