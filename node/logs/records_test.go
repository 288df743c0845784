package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"pinion/node/logs/record"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/logfilter"
	"pinion/raftfsm/spec"
)

// joinLines has a store take a line that begins with a bracket for the first of a record.
func joinLines(t testing.TB, s *Store, task, container string) {
	t.Helper()
	path := filepath.Join(s.dir, task, container+recordsSuffix)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`^\[`), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLinesOfARecordAreReadAndMatchedAsOne(t *testing.T) {
	s := NewStore(t.TempDir())
	joinLines(t, s, "t", "a")
	for i, text := range []string{"[1] begins", " at x", " at y", "[2] begins", "[3] begins", " at z"} {
		write(t, s.Path("t", "a"), i/2, text)
	}
	write(t, s.Path("t", "a"), 2+int(logdriver.RecordFlush/time.Second)+1, " late")
	for want, q := range map[string]spec.LogQuery{
		"a:[1] begins\n at x\n at y a:[2] begins a:[3] begins\n at z a: late": {},
		"a:[1] begins\n at x\n at y":                                          {Filter: logfilter.Filter{Grep: `at y`}},
		"a:[2] begins a: late":                                                {Filter: logfilter.Filter{Grep: `at [xz]`, Invert: true}},
		"a:[3] begins\n at z a: late":                                         {Tail: 2},
		"a:[3] begins\n at z":                                                 {Tail: 1, Filter: logfilter.Filter{Grep: `\[`}},
		"a:[2] begins a:[3] begins\n at z":                                    {Since: noon.Add(time.Second), Filter: logfilter.Filter{Until: noon.Add(3 * time.Second)}},
	} {
		q.Task = "t"
		if got := read(t, s, q); got != want {
			t.Errorf("%+v:\n got %q\nwant %q", q, got, want)
		}
	}
}

func TestARecordIsBounded(t *testing.T) {
	s := NewStore(t.TempDir())
	joinLines(t, s, "t", "many")
	joinLines(t, s, "t", "long")
	var many, long []byte
	for range logdriver.MaxRecordLines + 1 {
		many = record.Append(many, record.Record{Time: noon, Stream: "stdout", Text: []byte("x")})
	}
	for range 3 {
		long = record.Append(long, record.Record{Time: noon, Stream: "stdout", Text: []byte(strings.Repeat("y", logdriver.MaxRecordBytes/2))})
	}
	for name, raw := range map[string][]byte{"many": many, "long": long} {
		if err := os.WriteFile(s.Path("t", name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		records := 0
		err := s.Read(t.Context(), spec.LogQuery{Task: "t", Container: name}, nil, func(l spec.LogLine) error {
			if records++; len(l.Text) > logdriver.MaxRecordBytes {
				t.Errorf("%s: a record of %d bytes", name, len(l.Text))
			}
			return nil
		})
		if want := map[string]int{"many": 2, "long": 3}[name]; err != nil || records != want {
			t.Errorf("%s: %d records, %v", name, records, err)
		}
	}
}

// Whoever follows gets a record when the next one begins, or when its time is over; at the end of the task at once.
func TestAFollowedRecordEndsInTime(t *testing.T) {
	j := &multilineAssembler{}
	j.first, _ = logfilter.Compile(`^\[`)
	synctest.Test(t, func(t *testing.T) {
		line := func(text string) *spec.LogLine { return &spec.LogLine{Time: time.Now(), Text: text} }
		if got := j.add(line("[1]")); got != nil {
			t.Fatalf("%+v", got)
		}
		if got := j.rest(false); got != nil {
			t.Errorf("it is open, and %+v is told", got)
		}
		if got := j.add(line("[2]")); got == nil || got.Text != "[1]" {
			t.Errorf("%+v", got)
		}
		time.Sleep(logdriver.RecordFlush + 1)
		if got := j.rest(false); got == nil || got.Text != "[2]" {
			t.Errorf("%+v", got)
		}
		j.add(line("[3]"))
		if got := j.rest(true); got == nil || got.Text != "[3]" {
			t.Errorf("%+v", got)
		}
	})
}

// Whatever the lines, from whatever moment, up to which one, by whatever pattern and with whatever tail: the answer has the records of the
// whole log that are asked for, each once, whole and in order.
func TestEveryQueryHasTheRecordsOfTheWholeLog(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(filepath.Join(dir, fmt.Sprint(time.Now().UnixNano())))
		for _, container := range []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(t, "containers")] {
			if err := os.MkdirAll(filepath.Join(s.dir, "t"), 0o700); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "joined") {
				if err := os.WriteFile(filepath.Join(s.dir, "t", container+recordsSuffix), []byte(`^\[`), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			drawFiles(t, s, container)
		}
		query := func(q spec.LogQuery) (lines []spec.LogLine) {
			q.Task = "t"
			if err := s.Read(t.Context(), q, nil, func(l spec.LogLine) error { l.More = false; lines = append(lines, l); return nil }); err != nil {
				t.Fatal(err)
			}
			return lines
		}
		all := query(spec.LogQuery{})
		q := spec.LogQuery{Tail: rapid.IntRange(0, len(all)+1).Draw(t, "tail")}
		moment := func(what string) time.Time {
			return noon.Add(time.Duration(rapid.IntRange(-1, 200).Draw(t, what)) * time.Second)
		}
		if rapid.Bool().Draw(t, "since") {
			q.Since = moment("from")
		}
		if rapid.Bool().Draw(t, "until") {
			q.Until = moment("to")
		}
		q.Grep = rapid.SampledFrom([]string{"", "1", `\[1`, "4$"}).Draw(t, "grep")
		q.Invert = q.Grep != "" && rapid.Bool().Draw(t, "inverted")
		matches, _ := q.Matcher()
		want := slices.DeleteFunc(slices.Clone(all), func(l spec.LogLine) bool {
			return l.Time.Before(q.Since) || !q.Until.IsZero() && !l.Time.Before(q.Until) || !matches(l.Text)
		})
		if q.Tail > 0 {
			want = want[max(0, len(want)-q.Tail):]
		}
		if got := query(q); !slices.Equal(got, want) {
			t.Fatalf("%+v\n got %v\nwant %v\n all %v", q, got, want, all)
		}
	})
}

// drawFiles writes the rotated files of a container, in which a first line comes at least once in recordLookback.
func drawFiles(t *rapid.T, s *Store, container string) {
	var files [][]byte
	at, lastFirst, raw := noon, noon, []byte(nil)
	for i := range rapid.IntRange(0, 40).Draw(t, "lines") {
		at = at.Add(rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, time.Second, logdriver.RecordFlush, 2 * logdriver.RecordFlush}).Draw(t, "later by"))
		text := fmt.Sprint(i)
		if rapid.Bool().Draw(t, "first") || at.Sub(lastFirst) > recordLookback/2 {
			text, lastFirst = "["+text, at
		}
		raw = record.Append(raw, record.Record{Time: at, Stream: "stdout", Text: []byte(text)})
		if rapid.IntRange(0, 9).Draw(t, "rotate") == 0 {
			files, raw = append(files, raw), nil
		}
	}
	slices.Reverse(files)
	for i, older := range append([][]byte{raw}, files...) {
		path := s.Path("t", container)
		if i > 0 {
			path += fmt.Sprint(".", i)
		}
		if err := os.WriteFile(path, older, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
