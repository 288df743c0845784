package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
