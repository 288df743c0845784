package history

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
)

// epoch is when the tasks of tests begin to end.
var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// endedAt makes the n-th task of a test: it ran for the time before it stopped.
func endedAt(n int, stopped time.Time, ran time.Duration) ended.Task {
	code := 0
	t := spec.Task{
		ID: fmt.Sprintf("%032x", uint32(n)*2654435761), Cluster: []string{"default", "lab"}[n%2], Definition: fmt.Sprintf("family%d:%d", n%5, n%3+1),
		HostID: fmt.Sprintf("%032x", n%7), Group: fmt.Sprintf("group%d", n%11), LaunchType: "EC2", CPU: 1024, MemoryMiB: 4096,
		LastStatus: spec.Stopped, DesiredStatus: spec.Stopped, StopCode: spec.StopEssentialExited, StoppedReason: "Essential container in task exited",
		Owner: &spec.TaskOwner{Key: fmt.Sprintf("KEY%d", n%4)}, Tags: []spec.Tag{{Key: spec.TagTeam, Value: fmt.Sprintf("team%d", n%3)}},
		CreatedAt: stopped.Add(-ran - time.Second), Times: spec.TaskTimes{Started: stopped.Add(-ran), Stopped: stopped},
		Containers: []spec.Container{{ID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n), Name: "train", Image: "registry/train:1", LastStatus: spec.Stopped, ExitCode: &code}},
	}
	for gpu := range n % 3 {
		t.Containers[0].GPUs = append(t.Containers[0].GPUs, fmt.Sprintf("GPU-%d", gpu))
	}
	if given := int64(ran.Seconds()) * int64(n%3); n%4 > 0 && given > 0 {
		t.Containers[0].GPUTotals = &gpuuse.Totals{MeasuredSeconds: given * 9 / 10, BusySeconds: given / int64(n%4+1), Joules: 300 * given, PeakMemoryMiB: 70_000}
	}
	return ended.Task{Task: t, Outcome: ended.Outcomes[n%3], Host: fmt.Sprintf("host%d", n%7)}
}

// model is the history as a list.
type model struct {
	tasks map[string]ended.Task
	usage usageSums
	gone  time.Time
}

func (m *model) add(tasks []ended.Task) {
	for _, t := range tasks {
		if _, known := m.tasks[t.Task.ID]; !known && !t.Task.Times.Stopped.Before(m.gone) {
			m.tasks[t.Task.ID] = t
			m.usage.count(&t)
		}
	}
}

// sorted lists the tasks that match, the one that stopped last first.
func (m *model) find(q ended.Query) (found []ended.Task) {
	for _, t := range m.tasks {
		stopped := t.Task.Times.Stopped
		if matches(q, &t) && !stopped.Before(q.Since) && (q.Until.IsZero() || stopped.Before(q.Until)) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b ended.Task) int {
		return cmp.Or(b.Task.Times.Stopped.Compare(a.Task.Times.Stopped), cmp.Compare(b.Task.ID, a.Task.ID))
	})
	return found
}

func open(t fataler, path string) *Store {
	s, err := OpenStore(path)
	if err != nil {
		t.Fatal(err)
	}
	s.db.NoSync = true // no test cuts the power
	return s
}

// all reads every page.
func all(t fataler, s *Store, q ended.Query) (tasks []ended.Task) {
	for {
		page, err := s.Find(q)
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, page.Tasks...)
		if page.Next == q.Page && q.Page != "" {
			t.Fatal("a page leads to itself")
		}
		if q.Page = page.Next; q.Page == "" {
			return tasks
		}
	}
}

func ids(tasks []ended.Task) []string {
	list := []string{}
	for _, t := range tasks {
		list = append(list, t.Task.ID)
	}
	return list
}

// Whatever is added, in whatever order and however often, removed for its age and opened again: the store answers as a list would.
func TestAStoreAnswersAsAListWould(t *testing.T) {
	files := t.TempDir()
	runs := 0
	rapid.Check(t, func(r *rapid.T) {
		runs++
		path := filepath.Join(files, fmt.Sprint(runs))
		s := open(r, path)
		defer func() { s.Close() }()
		m := &model{tasks: map[string]ended.Task{}, usage: usageSums{}}
		next := 0
		for range rapid.IntRange(1, 5).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"end", "end", "late", "again", "prune", "reopen"}).Draw(r, "step") {
			case "end":
				next = addTasks(r, s, m, next, rapid.SampledFrom([]int{1, 3, 100, 520}).Draw(r, "tasks"), 0)
			case "late":
				next = addTasks(r, s, m, next, rapid.SampledFrom([]int{1, 40, 300}).Draw(r, "tasks"), rapid.IntRange(0, 3000).Draw(r, "minutes late"))
			case "again":
				if known := m.find(ended.Query{}); len(known) > 0 {
					if err := s.Add(known[:rapid.IntRange(1, len(known)).Draw(r, "known")], nil); err != nil {
						r.Fatal(err)
					}
				}
			case "prune":
				pruneBoth(r, s, m, rapid.IntRange(0, 120).Draw(r, "kept"))
			case "reopen":
				if err := s.Close(); err != nil {
					r.Fatal(err)
				}
				s = open(r, path)
			}
			compare(r, s, m)
		}
	})
}

func addTasks(r *rapid.T, s *Store, m *model, next, n, late int) int {
	var tasks []ended.Task
	for range n {
		at := epoch.Add(time.Duration(next-late) * time.Minute)
		tasks = append(tasks, endedAt(next, at, time.Duration(next%40)*time.Hour))
		next++
	}
	if err := s.Add(tasks, nil); err != nil {
		r.Fatal(err)
	}
	m.add(tasks)
	return next
}

func pruneBoth(r *rapid.T, s *Store, m *model, kept int) {
	for more, err := true, error(nil); more; {
		if more, err = s.Prune(Limits{Count: int64(kept + 1)}, epoch); err != nil {
			r.Fatal(err)
		}
	}
	known := m.find(ended.Query{})
	for i, gone := range known[min(len(known), kept+1):] {
		if delete(m.tasks, gone.Task.ID); i == 0 {
			m.gone = gone.Task.Times.Stopped.Add(1)
		}
	}
}

// compare asks both the same.
func compare(r *rapid.T, s *Store, m *model) {
	q := ended.Query{Limit: rapid.SampledFrom([]int{1, 7, 1000}).Draw(r, "page")}
	if q.Limit == 1 {
		q.Since = epoch.Add(rapid.Custom(func(r *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(0, 3000).Draw(r, "since")) * time.Minute
		}).Draw(r, "since"))
		q.Until = q.Since.Add(20 * time.Minute)
	}
	switch rapid.IntRange(0, 6).Draw(r, "filter") {
	case 1:
		q.Outcome = ended.Failed
	case 2:
		q.Team = "team1"
	case 3:
		q.Key, q.Group = "KEY2", "group4"
	case 4:
		q.Family = "family3"
	case 5:
		q.Allowed = func(cluster, team string) bool { return cluster == "lab" && team != "team2" }
	case 6:
		q.Group = "nowhere"
	}
	want := m.find(q)
	if got := all(r, s, q); !slices.Equal(ids(got), ids(want)) {
		r.Fatalf("%+v: %d tasks, not %d", q, len(got), len(want))
	}
	if len(want) > 0 {
		one := want[rapid.IntRange(0, len(want)-1).Draw(r, "one")]
		got, err := s.Task(one.Task.ID)
		if err != nil || got == nil || got.Host != one.Host || got.Outcome != one.Outcome || !got.Task.Times.Started.Equal(one.Task.Times.Started) {
			r.Fatalf("%+v, %v", got, err)
		}
	}
	report, err := s.Usage(ended.UsageQuery{By: ended.Dimensions})
	sums := map[ended.UsageRow]usageSum{}
	for k, sum := range m.usage {
		row := k.row(ended.Dimensions)
		sums[row] = sums[row].plus(sum)
	}
	if rows := sortedRows(sums); err != nil || !slices.Equal(report.Rows, rows) && len(rows) <= ended.MaxRows {
		r.Fatalf("usage: %d rows, not %d (%v)", len(report.Rows), len(rows), err)
	}
	if kept, err := s.meta(); err != nil || kept.Count != int64(len(m.tasks)) {
		r.Fatalf("%+v, %v: there are %d", kept, err, len(m.tasks))
	}
}

// fataler is a test, also one of rapid's.
type fataler interface{ Fatal(...any) }
