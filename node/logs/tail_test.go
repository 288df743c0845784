package logs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// A client chooses how long the tail is; whatever it says, the lines of several containers are not held in memory.
func TestALongTailTakesNoMemory(t *testing.T) {
	s := NewStore(t.TempDir())
	const lines = 2000
	text := strings.Repeat("x", 16<<10) // 64 MiB of both containers
	for _, container := range []string{"a", "b"} {
		path := s.Path("t", container)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range lines {
			fmt.Fprintf(f, `{"time":%q,"stream":"stdout","log":%q}`+"\n", noon.Add(time.Duration(i)*time.Second).Format(time.RFC3339Nano), text)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, enough := heap(), errors.New("enough")
	for _, tail := range []int{lines, 1 << 30} {
		err := s.Read(t.Context(), spec.LogQuery{Task: "t", Tail: tail}, nil, func(spec.LogLine) error {
			if after := heap(); after > before+8<<20 {
				t.Errorf("with the tail %d the first line comes when %d MiB are held", tail, (after-before)>>20)
			}
			return enough
		})
		if !errors.Is(err, enough) {
			t.Error(err)
		}
	}
}

// Each container alone has more lines than the tail; the tail of all of them is the last lines by time.
func TestTheTailOfSeveralContainersIsTheLastByTime(t *testing.T) {
	s := NewStore(t.TempDir())
	for i := range 10 {
		write(t, s.Path("t", "a"), i, fmt.Sprint(i))
		write(t, s.Path("t", "b"), 5+i, fmt.Sprint(5+i))
		write(t, s.Path("t", "c"), 20+i, fmt.Sprint(20+i))
	}
	for tail, want := range map[int]string{
		1:  "c:29",
		12: "b:13 b:14 c:20 c:21 c:22 c:23 c:24 c:25 c:26 c:27 c:28 c:29",
		13: "b:12 b:13 b:14 c:20 c:21 c:22 c:23 c:24 c:25 c:26 c:27 c:28 c:29",
	} {
		if got := read(t, s, spec.LogQuery{Task: "t", Tail: tail}); got != want {
			t.Errorf("%d: %q", tail, got)
		}
	}
}
