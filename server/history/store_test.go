package history

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// writerVariable makes the test program a writer that is killed: see TestWhatWasAcknowledgedOutlivesAKill.
const writerVariable = "PINION_TEST_HISTORY"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerVariable); path != "" {
		addUntilKilled(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// addUntilKilled adds tasks for ever, and says of each how many there are once they are kept.
func addUntilKilled(path string) {
	s, err := OpenStore(path)
	if err != nil {
		panic(err)
	}
	m, err := s.meta()
	if err != nil {
		panic(err)
	}
	for n := int(m.Count); ; {
		var tasks []ended.Task
		for range 1 + n%37 {
			tasks = append(tasks, endedAt(n, epoch.Add(time.Duration(n)*time.Second), time.Hour))
			n++
		}
		if err := s.Add(tasks, nil); err != nil {
			panic(err)
		}
		fmt.Println(n)
	}
}

// A writer is killed in the middle, again and again: whatever it said was kept is there, in the list, by its id and in the usage.
func TestWhatWasAcknowledgedOutlivesAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	for pass := range 5 {
		writer := exec.CommandContext(t.Context(), os.Args[0])
		writer.Env = append(os.Environ(), writerVariable+"="+path)
		out, err := writer.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.Start(); err != nil {
			t.Fatal(err)
		}
		acknowledged := 0
		lines := bufio.NewScanner(out)
		for line := 0; lines.Scan(); line++ {
			acknowledged, _ = strconv.Atoi(strings.TrimSpace(lines.Text()))
			if line == 3+pass {
				writer.Process.Kill()
			}
		}
		_ = writer.Wait() // it was killed
		checkKept(t, path, acknowledged)
	}
}

func checkKept(t *testing.T, path string, acknowledged int) {
	t.Helper()
	s := open(t, path)
	defer s.Close()
	kept := all(t, s, ended.Query{Limit: ended.MaxPage})
	if acknowledged == 0 || len(kept) < acknowledged {
		t.Fatalf("%d tasks are kept, %d were acknowledged", len(kept), acknowledged)
	}
	for n := range acknowledged {
		want := endedAt(n, epoch, time.Hour).Task.ID
		if got, err := s.Task(want); err != nil || got == nil {
			t.Fatalf("task %d: %v, %v", n, got, err)
		}
	}
	usage, err := s.Usage(ended.UsageQuery{})
	if err != nil || len(usage.Rows) != 1 || usage.Rows[0].Tasks != int64(len(kept)) {
		t.Errorf("%+v, %v: %d tasks are kept", usage, err, len(kept))
	}
}

// fill makes a store with so many tasks, a minute apart.
func fill(t testing.TB, n int) *Store {
	s := open(t, filepath.Join(t.TempDir(), "history.db"))
	t.Cleanup(func() { s.Close() })
	for at := 0; at < n; {
		var tasks []ended.Task
		for range min(n-at, 2000) {
			tasks = append(tasks, endedAt(at, epoch.Add(time.Duration(at)*time.Minute), time.Hour))
			at++
		}
		if err := s.Add(tasks, nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A search that finds nothing for long is cut into pages, so that no request costs more than another; none of the tasks is lost in between.
func TestALongSearchIsCutIntoPages(t *testing.T) {
	const tasks = (maxBlocksRead + 10) * blockSize
	s := fill(t, tasks)
	oldest := endedAt(1, epoch, time.Hour).Task.Cluster
	q := ended.Query{Since: epoch.Add(time.Minute), Until: epoch.Add(2 * time.Minute)}
	if got := all(t, s, q); len(got) != 1 {
		t.Errorf("%d tasks of one minute", len(got))
	}
	q = ended.Query{Limit: ended.MaxPage, Allowed: func(_, _ string) bool { return false }}
	page, err := s.Find(q)
	if err != nil || page.Next == "" || len(page.Tasks) != 0 {
		t.Errorf("%d tasks and the next page %q, %v", len(page.Tasks), page.Next, err)
	}
	seen := 0
	q.Allowed = func(cluster, _ string) bool { seen++; return cluster == oldest && seen >= tasks }
	if got := all(t, s, q); seen != tasks || len(got) > 1 {
		t.Errorf("%d of %d tasks were looked at, %d found", seen, tasks, len(got))
	}
}

func TestTasksAreFoundByTheBeginningOfTheirIDs(t *testing.T) {
	s := fill(t, 300)
	want := endedAt(77, epoch, 0).Task.ID
	for _, digits := range []int{31, 32} {
		if got, err := s.IDs(strings.ToUpper(want[:digits]), 5); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%d digits: %v, %v", digits, got, err)
		}
	}
	if got, err := s.IDs("0", 5); err != nil || len(got) != 5 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := s.IDs("train", 5); err == nil {
		t.Error("train is taken for hex digits")
	}
}

// A page ends early where the tasks are large, and every task is on one.
func TestAPageIsBoundedInBytes(t *testing.T) {
	const tasks, size = 300, 20_000
	s := open(t, filepath.Join(t.TempDir(), "history.db"))
	t.Cleanup(func() { s.Close() })
	var large []ended.Task
	for n := range tasks {
		task := endedAt(n+1, epoch, 0)
		task.Task.Tags = []spec.Tag{{Key: "large", Value: strings.Repeat("v", size)}}
		large = append(large, task)
	}
	if err := s.Add(large, nil); err != nil {
		t.Fatal(err)
	}
	page, err := s.Find(ended.Query{Limit: ended.MaxPage})
	if n := len(page.Tasks); err != nil || n < ended.MaxPageBytes/size/2 || n > ended.MaxPageBytes/size || page.Next == "" {
		t.Errorf("a page of %d tasks, %v", n, err)
	}
	if got := all(t, s, ended.Query{Limit: ended.MaxPage}); len(got) != tasks {
		t.Errorf("%d tasks on all pages", len(got))
	}
}

func TestATokenOfNoPageIsRefused(t *testing.T) {
	s := fill(t, 1)
	for _, token := range []string{"x", "00", strings.Repeat("0", 50)} {
		if _, err := s.Find(ended.Query{Page: token}); !errors.Is(err, ended.ErrPage) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

// Each byte of a block is changed in turn: the damage is noticed, or nothing has changed.
func TestADamagedBlockIsNoticed(t *testing.T) {
	codec, err := theCodec()
	if err != nil {
		t.Fatal(err)
	}
	records, err := sorted([]ended.Task{endedAt(1, epoch, time.Hour), endedAt(2, epoch, time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	block := codec.encode(records)
	for i := range block {
		for bit := range 8 {
			block[i] ^= 1 << bit
			if _, err := codec.decode(block); !errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d bit %d: %v", i, bit, err)
			}
			block[i] ^= 1 << bit
		}
		if _, err := codec.decode(block[:i]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
}

func TestAFileThatIsNoHistoryIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(path); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

// What is old goes, by age, and so does what it added up to; each step removes a bounded number of blocks.
func TestWhatIsTooOldIsRemoved(t *testing.T) {
	const tasks = 30 * blockSize
	s := fill(t, tasks)
	now := epoch.Add(tasks * time.Minute)
	limits := Limits{Age: 24 * time.Hour}
	more, err := s.Prune(limits, now)
	if err != nil || !more {
		t.Fatalf("one step was enough: %v", err)
	}
	for more {
		if more, err = s.Prune(limits, now); err != nil {
			t.Fatal(err)
		}
	}
	first, _, err := s.Span()
	if kept := now.Sub(first); err != nil || kept < limits.Age || kept > limits.Age+2*maxBlockSize*time.Minute {
		t.Errorf("tasks of the last %v are kept, %v", kept, err)
	}
	usage, err := s.Usage(ended.UsageQuery{By: []ended.Dimension{ended.ByDay}})
	if err != nil || len(usage.Rows) == 0 || usage.Rows[0].Day < now.Add(-limits.Age).Format(time.DateOnly) {
		t.Errorf("%+v, %v", usage, err)
	}
	for more = true; more; {
		if more, err = s.Prune(Limits{Age: time.Minute, Bytes: 1}, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if left := all(t, s, ended.Query{}); len(left) != 0 {
		t.Errorf("%d tasks are left", len(left))
	}
}
