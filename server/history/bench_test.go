package history

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

var benchTasks = flag.Int("tasks", 50_000, "how many tasks of 30 days the store of BenchmarkHistory has")

const benchSpan = 30 * 24 * time.Hour

// realTask is a task as a pool makes them: its ids, digests and times are like no other's.
func realTask(random *rand.Rand, stopped time.Time) ended.Task {
	hex := func(digits int) (text string) {
		for len(text) < digits {
			text += fmt.Sprintf("%016x", random.Uint64())
		}
		return text[:digits]
	}
	n := random.IntN(300)
	team := n % 20
	code := []int{0, 0, 0, 1}[random.IntN(4)]
	ran := time.Duration(random.Int64N(int64(8 * time.Hour)))
	at := func(before time.Duration) time.Time {
		return stopped.Add(-before - time.Duration(random.Int64N(int64(time.Second))))
	}
	t := spec.Task{
		ID: hex(32), Cluster: "default", Definition: fmt.Sprintf("train%d:%d", n, random.IntN(20)), HostID: fmt.Sprintf("%032x", random.IntN(200)),
		Group: fmt.Sprintf("family:train%d", n), StartedBy: "pinion-run", LaunchType: "EC2", CPU: 8192, MemoryMiB: 65536, LastStatus: spec.Stopped,
		DesiredStatus: spec.Stopped, StopCode: spec.StopEssentialExited, StoppedReason: "Essential container in task exited", Version: 7,
		Tags: []spec.Tag{{Key: spec.TagTeam, Value: fmt.Sprintf("team%d", team)}}, Owner: &spec.TaskOwner{Key: fmt.Sprintf("AKIA%016d", n%60)},
		CreatedAt: at(ran + 10*time.Second),
		Times:     spec.TaskTimes{PullStarted: at(ran + 9*time.Second), PullStopped: at(ran + 5*time.Second), Started: at(ran), ExecutionStopped: at(0), Stopped: stopped},
		Containers: []spec.Container{{ID: hex(8) + "-" + hex(4) + "-4" + hex(3) + "-a" + hex(3) + "-" + hex(12), Name: "train", LastStatus: spec.Stopped, ExitCode: &code,
			Image: fmt.Sprintf("registry.example/team%d/train:v%d", team, n%9), RuntimeID: hex(64), ImageDigest: fmt.Sprintf("sha256:%064x", n%50)}},
	}
	for range 1 << random.IntN(4) {
		t.Containers[0].GPUs = append(t.Containers[0].GPUs, fmt.Sprintf("GPU-%08x-0000-0000-0000-000000000000", random.IntN(1600)))
	}
	return ended.Task{Task: t, Outcome: []ended.Outcome{ended.Succeeded, ended.Failed}[code], Host: fmt.Sprintf("gpu-host-%d", random.IntN(200))}
}

// BenchmarkHistory weighs a store of tasks of 30 days, and times the questions that people ask, beside a bare scan of the same bytes.
func BenchmarkHistory(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for b.Loop() {
		path := filepath.Join(b.TempDir(), "history.db")
		s, err := OpenStore(path)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Add([]ended.Task{realTask(random, epoch)}, nil); err != nil { // the packer gets its tables
			b.Fatal(err)
		}
		heap := liveHeap()
		fillBench(b, s, random)
		b.ReportMetric(float64(liveHeap()-heap), "heap-growth-B")
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size()), "file-B")
		b.ReportMetric(float64(info.Size())/float64(*benchTasks), "file-B/task")
		timeQuestions(b, s)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// fillBench adds the tasks as the follower does, and tells how long the longest second's worth took.
func fillBench(b *testing.B, s *Store, random *rand.Rand) {
	var longest time.Duration
	for at := 0; at < *benchTasks; {
		var tasks []ended.Task
		for range min(maxAdded, *benchTasks-at) {
			tasks = append(tasks, realTask(random, epoch.Add(time.Duration(float64(benchSpan)*float64(at)/float64(*benchTasks)))))
			at++
		}
		began := time.Now()
		if err := s.Add(tasks, nil); err != nil {
			b.Fatal(err)
		}
		longest = max(longest, time.Since(began))
	}
	b.ReportMetric(float64(longest.Nanoseconds()), "longest-write-of-2000-ns")
}

func timeQuestions(b *testing.B, s *Store) {
	until := epoch.Add(benchSpan)
	hour := timed(b, 200, func() {
		if found := all(b, s, ended.Query{Since: until.Add(-time.Hour), Limit: ended.MaxPage}); len(found) < *benchTasks/800 {
			b.Fatalf("%d tasks in the last hour", len(found))
		}
	})
	b.ReportMetric(float64(hour[len(hour)/2].Nanoseconds()), "hour-p50-ns")
	b.ReportMetric(float64(hour[len(hour)*99/100].Nanoseconds()), "hour-p99-ns")
	failed := timed(b, 50, func() {
		all(b, s, ended.Query{Since: until.Add(-48 * time.Hour), Outcome: ended.Failed, Team: "team7", Limit: ended.MaxPage})
	})
	b.ReportMetric(float64(failed[len(failed)*99/100].Nanoseconds()), "two-days-failed-of-a-team-p99-ns")
	usage := timed(b, 10, func() {
		report, err := s.Usage(ended.UsageQuery{Since: epoch, By: []ended.Dimension{ended.ByTeam}})
		if err != nil || len(report.Rows) != 20 {
			b.Fatalf("%d rows, %v", len(report.Rows), err)
		}
	})
	b.ReportMetric(float64(usage[len(usage)-1].Nanoseconds()), "usage-slowest-ns")
	scan := timed(b, 5, func() { bareScan(b, s) })
	b.ReportMetric(float64(scan[len(scan)/2].Nanoseconds()), "bare-scan-ns")
}

// bareScan reads the bytes of every block and unpacks none.
func bareScan(b *testing.B, s *Store) {
	sum := 0
	err := s.view(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketBlocks).ForEach(func(_, block []byte) error {
			for _, c := range block {
				sum += int(c)
			}
			return nil
		})
	})
	if err != nil || sum == 0 {
		b.Fatal(err)
	}
}

func timed(b *testing.B, times int, do func()) (all []time.Duration) {
	b.Helper()
	for range times {
		began := time.Now()
		do()
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all
}

// liveHeap is what a garbage collection leaves.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
