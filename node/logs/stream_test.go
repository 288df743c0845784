package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/node/logs/record"
	"pinion/raftfsm/spec"
)

// rotating writes a log as the logger does: the files of a rotation say what came before them.
type rotating struct {
	path  string
	files int
	base  int64
	lines int
}

func (w *rotating) add(t interface{ Fatal(...any) }) {
	raw := record.Append(nil, record.Record{Time: time.Unix(1e9, int64(w.lines)), Stream: "stdout", Text: strconv.AppendInt(nil, int64(w.lines), 10)})
	w.lines++
	f, err := os.OpenFile(w.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, _ := f.Stat(); info.Size() == 0 && w.base > 0 {
		raw = append(record.AppendBase(nil, w.base), raw...)
	}
	if _, err := f.Write(raw); err != nil {
		t.Fatal(err)
	}
}

func (w *rotating) rotate() {
	if info, err := os.Stat(w.path); err == nil {
		w.base += info.Size()
	}
	for i := w.files - 1; i > 0; i-- {
		from := w.path + "." + strconv.Itoa(i-1)
		if i == 1 {
			from = w.path
		}
		_ = os.Rename(from, w.path+"."+strconv.Itoa(i))
	}
}

// However a log is written, rotated and read, by one reader or by several that go on where the one before stopped: each line comes once and in
// order, and whatever is missing between two is counted.
func TestAStreamLosesNoLineThatItDoesNotCount(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(filepath.Join(dir, fmt.Sprint(time.Now().UnixNano())))
		w := &rotating{path: s.Path("t", "c"), files: rapid.IntRange(2, 4).Draw(t, "files")}
		if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
			t.Fatal(err)
		}
		var st *Stream
		position, next := int64(0), 0
		read := func(most int) {
			if st == nil {
				opened, err := s.OpenStream("t", "c", position)
				if err != nil {
					t.Fatal(err)
				}
				if st = opened; st == nil {
					return
				}
			}
			for range most {
				line, ok, err := st.Next()
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					return
				}
				n, _ := strconv.Atoi(line.Text)
				if n < next || (n > next) != (line.Lost > 0) {
					t.Fatalf("line %d comes where %d is due, and %d bytes are said to be lost", n, next, line.Lost)
				}
				position, next = line.End, n+1
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"write", "write", "rotate", "read", "reopen"}).Draw(t, "step") {
			case "write":
				w.add(t)
			case "rotate":
				if _, err := os.Stat(w.path); err == nil {
					w.rotate()
				}
			case "read":
				read(rapid.IntRange(1, 3).Draw(t, "lines"))
			case "reopen":
				if st != nil {
					st.Close()
					st = nil
				}
			}
		}
		w.add(t)
		read(1000)
		if next != w.lines {
			t.Fatalf("the stream ends before line %d of %d", next, w.lines)
		}
		st.Close()
	})
}

func TestALogThatWasBegunAnewIsReadFromItsBeginning(t *testing.T) {
	s := NewStore(t.TempDir())
	w := &rotating{path: s.Path("t", "c"), files: 2}
	if err := os.MkdirAll(filepath.Dir(w.path), 0o700); err != nil {
		t.Fatal(err)
	}
	w.add(t)
	st, err := s.OpenStream("t", "c", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if line, ok, err := st.Next(); !ok || err != nil || line.Lost != 0 || line.Text != "0" {
		t.Errorf("%+v, %v, %v", line, ok, err)
	}
	if st.Written() {
		t.Error("no logger has it open")
	}
	if none, err := s.OpenStream("t", "other", 0); none != nil || err != nil {
		t.Errorf("a log without a file: %v, %v", none, err)
	}
}

// A forwarder's own lines stand among those of its container, and do not grow for ever.
func TestWhatAForwarderSaysIsPartOfTheLog(t *testing.T) {
	s := NewStore(t.TempDir())
	of := ForwardedLog{"t", "c"}
	if err := s.WriteForwardRecord(of, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	write(t, s.Path("t", "c"), 1, "of the container")
	write(t, s.Path("t", "d"), 2, "of another")
	if err := s.AppendForwardMessage(of, "pinion: said"); err != nil {
		t.Fatal(err)
	}
	for container, want := range map[string][]string{"": {"c of the container", "d of another", "c pinion: said"}, "c": {"c of the container", "c pinion: said"}} {
		var got []string
		err := s.Read(context.Background(), spec.LogQuery{Task: "t", Container: container}, nil, func(l spec.LogLine) error {
			got = append(got, l.Container+" "+l.Text)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", container, got, err)
		}
	}
	for range 4000 {
		if err := s.AppendForwardMessage(of, "pinion: the same again, which takes some room"); err != nil {
			t.Fatal(err)
		}
	}
	bytes := int64(0)
	files, _ := filepath.Glob(s.beside(of, ".forward.log*"))
	for _, f := range files {
		info, _ := os.Stat(f)
		bytes += info.Size()
	}
	if bytes > 3*maxSaid {
		t.Errorf("%d bytes", bytes)
	}
	if all, err := s.ForwardedLogs(); err != nil || !slices.Equal(all, []ForwardedLog{of}) {
		t.Errorf("%v, %v", all, err)
	}
}
