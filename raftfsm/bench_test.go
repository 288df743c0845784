package raftfsm

import (
	"bytes"
	"fmt"
	"testing"

	"pinion/raftfsm/spec"
)

// BenchmarkLaunchTenTasks is the whole way of an entry through a server: encode, decode, check and record.
func BenchmarkLaunchTenTasks(b *testing.B) {
	h := newHistory(b)
	wide := hostWith("h1", 16)
	wide.CPU = 1 << 20
	wide.MemoryMiB = 1 << 20
	h.do(b, PutHost{wide})
	entrySize := 0
	for n := 0; b.Loop(); n++ {
		run := Launch{Cluster: spec.DefaultCluster, Token: fmt.Sprint("token", n), TokenHash: "a", At: epoch}
		var ended ReportTasks
		for i := range 10 {
			placed := task(fmt.Sprintf("%026d%06d", n, i), "h1", fmt.Sprintf("h1-gpu%d", i))
			run.Tasks = append(run.Tasks, placed)
			ended.Reports = append(ended.Reports, spec.TaskReport{TaskID: placed.ID, Status: spec.Stopped})
		}
		entry, err := Encode(LaunchTasks{[]Launch{run}})
		if err != nil {
			b.Fatal(err)
		}
		command, err := Decode(entry)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := h.Apply(uint64(n), command)
		if err != nil || len(answer.([]LaunchResult)[0].Result.Tasks) != 10 {
			b.Fatalf("%+v, %v", answer, err)
		}
		entrySize = len(entry)

		b.StopTimer()
		ended.HostID = "h1"
		_, _ = h.Apply(uint64(n), ended)
		_, _ = h.Apply(uint64(n), Reap{Before: at(1), TokensBefore: at(1)})
		b.StartTimer()
	}
	b.ReportMetric(float64(entrySize), "bytes/entry")
}

// fleet is a state of hosts with eight GPUs, each held by one of eight tasks.
func fleet(b *testing.B, hosts int) *State {
	h := newHistory(b)
	for i := range hosts {
		id := fmt.Sprintf("host%04d", i)
		h.do(b, PutHost{hostWith(id, 8)})
		var run Launch
		for n := range 8 {
			run.Tasks = append(run.Tasks, task(fmt.Sprintf("task%04d-%d", i, n), id, fmt.Sprintf("%s-gpu%d", id, n)))
		}
		h.launch(b, run)
	}
	return h.State
}

func BenchmarkFreeOfAThousandHosts(b *testing.B) {
	view := fleet(b, 1000).View()
	for b.Loop() {
		for _, host := range view.Hosts(spec.DefaultCluster) {
			view.Free(host.ID)
		}
	}
}

func BenchmarkReportOfOneTask(b *testing.B) {
	state := fleet(b, 1000)
	code := 0
	for n := uint64(0); b.Loop(); n++ {
		code = int(n)
		report := ReportTasks{HostID: "host0500", Reports: []spec.TaskReport{{TaskID: "task0500-3", Status: spec.Running,
			Containers: []spec.ContainerReport{{Name: "main", Status: spec.Running, ExitCode: &code, RuntimeID: fmt.Sprint(n)}}}}}
		if _, err := state.Apply(n, report); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshotOfEightThousandTasks(b *testing.B) {
	state := fleet(b, 1000)
	written := snapshotOf(b, state)
	b.Run("write", func(b *testing.B) {
		var again bytes.Buffer
		for b.Loop() {
			again.Reset()
			if err := state.View().writeSnapshot(&again); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(written)), "bytes")
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			if err := state.Restore(newReader(written)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLaunchWhereManyHaveStopped records a task on a host that has run 10,000 others, which are not reaped yet.
func BenchmarkLaunchWhereManyHaveStopped(b *testing.B) {
	h := newHistory(b)
	run := func(n int) {
		id := fmt.Sprintf("%032d", n)
		h.launch(b, Launch{Tasks: []*spec.Task{task(id, "h1")}})
		h.report(b, "h1", spec.TaskReport{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(1)}})
	}
	for n := range 10_000 {
		run(n)
	}
	for n := 10_000; b.Loop(); n++ {
		run(n)
	}
}
