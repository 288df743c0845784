package logs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/logs/record"
	"pinion/raftfsm/spec"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// write appends one line to a container's log, at a second after noon.
func write(t testing.TB, path string, second int, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at := noon.Add(time.Duration(second) * time.Second)
	if _, err := f.Write(record.Append(nil, record.Record{Time: at, Stream: "stdout", Text: []byte(text)})); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func rotate(t *testing.T, path string, files int) {
	t.Helper()
	for i := files; i > 1; i-- {
		os.Rename(fmt.Sprintf("%s.%d", path, i-1), fmt.Sprintf("%s.%d", path, i))
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *Store, q spec.LogQuery) string {
	t.Helper()
	var texts []string
	err := s.Read(t.Context(), q, nil, func(l spec.LogLine) error {
		texts = append(texts, l.Container+":"+l.Text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(texts, " ")
}

func TestQueries(t *testing.T) {
	s := NewStore(t.TempDir())
	a, b := s.Path("t1", "a"), s.Path("t1", "b")
	for i, text := range []string{"1", "2", "3"} {
		write(t, a, i*10, text)
		write(t, b, i*10+5, text)
		rotate(t, a, i+1)
	}
	write(t, a, 30, "4")
	write(t, s.Path("t2", "a"), 0, "other")
	for name, c := range map[string]struct {
		query spec.LogQuery
		want  string
	}{
		"all, by time":              {spec.LogQuery{}, "a:1 b:1 a:2 b:2 a:3 b:3 a:4"},
		"one container":             {spec.LogQuery{Container: "a"}, "a:1 a:2 a:3 a:4"},
		"since":                     {spec.LogQuery{Since: noon.Add(20 * time.Second)}, "a:3 b:3 a:4"},
		"the last":                  {spec.LogQuery{Tail: 1}, "a:4"},
		"the last of both":          {spec.LogQuery{Tail: 3}, "a:3 b:3 a:4"},
		"more than there is":        {spec.LogQuery{Container: "b", Tail: 100}, "b:1 b:2 b:3"},
		"the last across rotations": {spec.LogQuery{Container: "a", Tail: 3}, "a:2 a:3 a:4"},
		"the last, but only since":  {spec.LogQuery{Container: "a", Tail: 3, Since: noon.Add(15 * time.Second)}, "a:3 a:4"},
		"a container that is not":   {spec.LogQuery{Container: "c"}, ""},
		"nothing so late":           {spec.LogQuery{Since: noon.Add(time.Hour)}, ""},
	} {
		c.query.Task = "t1"
		if got := read(t, s, c.query); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := read(t, s, spec.LogQuery{Task: "t3"}); got != "" {
		t.Errorf("a task without logs: %q", got)
	}
}

func TestTheTailOfALongLog(t *testing.T) {
	s := NewStore(t.TempDir())
	path := s.Path("t", "a")
	write(t, path, 0, strings.Repeat("x", 100_000))
	for i := range 5000 {
		write(t, path, 0, fmt.Sprint(i))
	}
	if got := read(t, s, spec.LogQuery{Task: "t", Tail: 3}); got != "a:4997 a:4998 a:4999" {
		t.Errorf("got %q", got)
	}
}

func TestALineTornByACrashIsPassedOver(t *testing.T) {
	s := NewStore(t.TempDir())
	path := s.Path("t", "a")
	write(t, path, 0, "1")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("1767322800000000006 o 1"); err != nil {
		t.Fatal(err)
	}
	for _, tail := range []int{0, 5} {
		if got := read(t, s, spec.LogQuery{Task: "t", Tail: tail}); got != "a:1" {
			t.Errorf("got %q", got)
		}
	}
	if _, err := f.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	write(t, path, 1, "2")
	if got := read(t, s, spec.LogQuery{Task: "t"}); got != "a:1 a:2" {
		t.Errorf("got %q", got)
	}
}

// The writer goes on while the reader follows: in step, each line written when the one before it has been read.
func TestFollowingSeesEveryLineAcrossRotations(t *testing.T) {
	s := NewStore(t.TempDir())
	s.poll = time.Millisecond
	path := s.Path("t", "a")
	const lines = 200
	got := 0
	done := make(chan struct{})
	writeNext := func() {
		if got%7 == 3 {
			rotate(t, path, 3)
		}
		write(t, path, got, fmt.Sprint(got))
		if got%5 == 0 { // two at once, with a rotation between them
			rotate(t, path, 3)
			write(t, path, got, "extra")
		}
	}
	writeNext()
	err := s.Read(t.Context(), spec.LogQuery{Task: "t", Follow: true}, done, func(l spec.LogLine) error {
		if l.Text == "extra" {
			return nil
		}
		if l.Text != fmt.Sprint(got) {
			return fmt.Errorf("line %d is %q", got, l.Text)
		}
		if got++; got == lines {
			close(done)
			return nil
		}
		writeNext()
		return nil
	})
	if err != nil || got != lines {
		t.Errorf("%d lines, %v", got, err)
	}
}

func TestFollowingWaitsForALogAndEndsWithItsContainer(t *testing.T) {
	s := NewStore(filepath.Join(t.TempDir(), "later"))
	s.poll = time.Millisecond
	done, ended := make(chan struct{}), make(chan error, 1)
	lines := make(chan string, 1)
	go func() {
		ended <- s.Read(t.Context(), spec.LogQuery{Task: "t", Follow: true}, done, func(l spec.LogLine) error { lines <- l.Text; return nil })
	}()
	write(t, s.Path("t", "a"), 0, "first")
	got := []string{<-lines}
	write(t, s.Path("t", "b"), 1, "second")
	got = append(got, <-lines)
	write(t, s.Path("t", "a"), 2, "last words")
	close(done) // and drained all the same
	got = append(got, <-lines)
	err := <-ended
	if want := []string{"first", "second", "last words"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestReadingEndsWithTheContextAndWithAnErrorOfTheReader(t *testing.T) {
	s := NewStore(t.TempDir())
	write(t, s.Path("t", "a"), 0, "1")
	broken := errors.New("client is gone")
	err := s.Read(t.Context(), spec.LogQuery{Task: "t", Follow: true}, nil, func(spec.LogLine) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = s.Read(ctx, spec.LogQuery{Task: "t", Follow: true}, nil, func(spec.LogLine) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNamesNeverLeadOutOfTheStore(t *testing.T) {
	dir := t.TempDir()
	s := NewStore(filepath.Join(dir, "logs"))
	write(t, s.Path("t", "a"), 0, "mine")
	write(t, filepath.Join(dir, "secret.log"), 0, "secret")
	write(t, filepath.Join(dir, "other", "a.log"), 0, "secret")
	if err := os.Symlink(filepath.Join(dir, "other"), filepath.Join(dir, "logs", "link")); err != nil {
		t.Fatal(err)
	}
	for _, q := range []spec.LogQuery{
		{Task: "..", Container: "secret"}, {Task: "t", Container: "../../secret"}, {Task: "../other"}, {Task: "."}, {Task: ""},
		{Task: "t", Container: "/etc/passwd"}, {Task: "t/../../other"},
	} {
		if got := read(t, s, q); got != "" {
			t.Errorf("%+v: %q", q, got)
		}
		if path := s.Path(q.Task, q.Container); filepath.Dir(filepath.Dir(path)) != filepath.Join(dir, "logs") {
			t.Errorf("%+v leads to %s", q, path)
		}
	}
	err := s.Read(t.Context(), spec.LogQuery{Task: "link"}, nil, func(l spec.LogLine) error {
		t.Errorf("through a link: %+v", l)
		return nil
	})
	if err == nil {
		t.Error("a link out of the store is followed")
	}
}

func TestPruneForgetsWhatIsOldAndNotInUse(t *testing.T) {
	s := NewStore(t.TempDir())
	for task, second := range map[string]int{"old": 0, "young": 100, "silent": 0} {
		write(t, s.Path(task, "a"), second, "x")
	}
	held, err := os.Open(s.Path("silent", "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_SH); err != nil { // as its logger does
		t.Fatal(err)
	}
	if err := s.Prune(noon.Add(Retention + 50*time.Second)); err != nil {
		t.Fatal(err)
	}
	entries, _ := os.ReadDir(s.dir)
	if len(entries) != 2 || entries[0].Name() != "silent" || entries[1].Name() != "young" {
		t.Errorf("left: %v", entries)
	}
	if err := NewStore(filepath.Join(s.dir, "missing")).Prune(noon); err != nil {
		t.Error(err)
	}
}
