package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestALogGroupSaysHowLongItsLogsAreKept(t *testing.T) {
	s := NewStore(t.TempDir())
	s.GroupRetention = func(group string) time.Duration {
		return map[string]time.Duration{"short": time.Hour, "long": 3 * Retention}[group]
	}
	for task, groups := range map[string][]string{"usual": {"other"}, "short": {"short"}, "mixed": {"short", "long"}, "half": {"short", "other"}, "none": nil} {
		write(t, s.Path(task, "a"), 0, "x")
		for i, group := range groups {
			path := filepath.Join(s.dir, task, fmt.Sprint(i)+groupSuffix)
			if err := os.WriteFile(path, []byte(group), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, noon, noon); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		after time.Duration
		left  string
	}{
		{time.Hour, "half mixed none short usual"}, {2 * time.Hour, "half mixed none usual"}, {Retention + time.Hour, "mixed"}, {3*Retention + time.Hour, ""},
	} {
		if err := s.Prune(noon.Add(c.after)); err != nil {
			t.Fatal(err)
		}
		var left []string
		entries, _ := os.ReadDir(s.dir)
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if got := strings.Join(left, " "); got != c.left {
			t.Errorf("after %v: %q, want %q", c.after, got, c.left)
		}
	}
}

func TestWhatWasWrittenBeforeAGroupWasDeletedGoes(t *testing.T) {
	s := NewStore(t.TempDir())
	s.Deleted = func() map[string]int64 { return map[string]int64{"deleted": noon.Add(5 * time.Second).UnixMilli()} }
	container := func(task, name, group string, seconds ...int) {
		for i, second := range seconds {
			if i > 0 {
				rotate(t, s.Path(task, name), i)
			}
			write(t, s.Path(task, name), second, "x")
		}
		if err := os.WriteFile(filepath.Join(s.dir, task, name+groupSuffix), []byte(group), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	container("old", "a", "deleted", 0, 1, 2)
	container("other", "a", "kept", 0)
	container("both", "a", "deleted", 0)
	container("both", "a.b", "kept", 0)
	container("later", "a", "deleted", 1, 9)
	container("running", "a", "deleted", 1, 2)
	logger, err := os.Open(s.Path("running", "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer logger.Close()
	if err := unix.Flock(int(logger.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if err := s.Prune(noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(s.dir + "/*/*.log*")
	for i := range left {
		left[i] = strings.TrimPrefix(left[i], s.dir+"/")
	}
	if got := strings.Join(left, " "); got != "both/a.b.log later/a.log other/a.log running/a.log" {
		t.Errorf("left are %s", got)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "old")); err == nil {
		t.Error("the directory of the task is left")
	}
}
