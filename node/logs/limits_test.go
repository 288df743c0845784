package logs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// held makes the log of a task one that a logger writes to.
func held(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
}

// kept lists the files in the store, as task/file.
func (s *Store) kept(t *testing.T) (all []string) {
	t.Helper()
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	logs, err := keptLogs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		all = append(all, l.files...)
	}
	slices.Sort(all)
	return all
}

// oneFile is the size on disk of each file of these tests.
const oneFile = 64 << 10

func writeBlocks(t *testing.T, path string, second int) {
	write(t, path, second, strings.Repeat("x", oneFile-200))
}

// newFullStore has two ended tasks and a running one with rotated files, eight files in all.
func newFullStore(t *testing.T) *Store {
	s := NewStore(t.TempDir())
	writeBlocks(t, s.Path("first", "a"), 10)
	writeBlocks(t, s.Path("first", "b"), 11)
	writeBlocks(t, s.Path("second", "a"), 20)
	for second := range 5 {
		writeBlocks(t, s.Path("running", "a"), second)
		if second < 4 {
			rotate(t, s.Path("running", "a"), second+1)
		}
	}
	held(t, s.Path("running", "a"))
	return s
}

func TestTheLogsOfTasksThatEndedFirstGoFirst(t *testing.T) {
	running := []string{"running/a.log", "running/a.log.1", "running/a.log.2", "running/a.log.3", "running/a.log.4"}
	for _, c := range []struct {
		files float64 // that the limit has room for
		want  []string
	}{
		{9, append([]string{"first/a.log", "first/b.log"}, append(slices.Clone(running), "second/a.log")...)},
		{7.5, append(slices.Clone(running), "second/a.log")},
		{5.7, running},
		{3.5, running[:3]},
		{0.5, running[:1]}, // what is being written stays
	} {
		t.Run(fmt.Sprint(c.files), func(t *testing.T) {
			s := newFullStore(t)
			removed, err := s.Hold(Limits{Bytes: int64(c.files * oneFile)})
			if got := s.kept(t); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("kept %q, want %q, %v", got, c.want, err)
			}
			if over := removed.Over > 0; over != (c.files < 1) {
				t.Errorf("%+v", removed)
			}
		})
	}
}

// A disk that something else fills costs the logs of ended tasks, and none of a running one.
func TestADiskThatFillsCostsTheLogsOfEndedTasks(t *testing.T) {
	s := newFullStore(t)
	justNow := s.Path("failed", "a")
	write(t, justNow, 0, "why")
	if err := os.Chtimes(justNow, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	removed, err := s.Hold(Limits{Bytes: 1 << 40, Free: 1 << 60})
	if got := s.kept(t); err != nil || len(got) != 6 || removed.Tasks != 2 || removed.Files != 0 {
		t.Errorf("kept %q, %+v, %v", got, removed, err)
	}
}

func TestLimitsHoldOnAnEmptyStore(t *testing.T) {
	if removed, err := NewStore(t.TempDir() + "/none").Hold(Limits{}); removed != (Removed{}) || err != nil {
		t.Errorf("%+v, %v", removed, err)
	}
}
