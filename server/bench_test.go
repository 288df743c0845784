package server

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// BenchmarkFdatasync is the reference: one page written and synced, on the file system that the others use.
func BenchmarkFdatasync(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "page"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	page := make([]byte, 4096)
	for i := 0; b.Loop(); i++ {
		page[i%len(page)]++
		if _, err := file.WriteAt(page, int64(i%1024)*4096); err != nil {
			b.Fatal(err)
		}
		if err := unix.Fdatasync(int(file.Fd())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApply(b *testing.B) {
	s := start(b, config(b.TempDir()))
	for i := 0; b.Loop(); i++ {
		apply(b, s, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: fmt.Sprint("c", i%100)}})
	}
}

// BenchmarkRun is RunTask's reply without HTTP, one client.
func BenchmarkRun(b *testing.B) {
	s := start(b, config(b.TempDir()))
	joinWith(b, s, 8)
	definition := define(b, s, 1)
	for b.Loop() {
		task := run(b.Context(), b, s, runOf(definition)).Tasks[0]
		b.StopTimer()
		if _, err := s.agents.Report(b.Context(), hostID, []spec.TaskReport{{TaskID: task.ID, Status: spec.Stopped}}); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

func BenchmarkRunParallel(b *testing.B) {
	s := start(b, config(b.TempDir()))
	joinWith(b, s, 0)
	request := runOf(define(b, s, 0))
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			run(b.Context(), b, s, request)
		}
	})
	b.ReportMetric(float64(s.node.Raft().LastIndex())/float64(b.N), "entries/op")
}

func BenchmarkView(b *testing.B) {
	s := start(b, config(b.TempDir()))
	for b.Loop() {
		view(b, s)
	}
}
