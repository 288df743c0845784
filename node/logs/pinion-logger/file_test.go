package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/logs"
	"pinion/node/logs/record"
	"pinion/raftfsm/spec"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 5, time.UTC)

func testFile(t *testing.T, maxSize int64, maxFiles int) *logFile {
	l := newFile(filepath.Join(t.TempDir(), "task", "main.log"), maxSize, maxFiles, 0, func() time.Time { return noon })
	t.Cleanup(l.close)
	return l
}

type decoded struct {
	Time    time.Time
	Stream  string
	Log     string
	Partial bool
}

func contents(t *testing.T, path string) []decoded {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []decoded
	for line := range strings.Lines(string(raw)) {
		if _, is := record.Base([]byte(line)); is {
			continue
		}
		r, whole := record.Parse([]byte(line))
		if !whole {
			t.Fatalf("%q is no record", line)
		}
		all = append(all, decoded{r.Time, r.Stream, string(r.Text), r.Partial})
	}
	return all
}

func TestLinesKeepTimeStreamAndText(t *testing.T) {
	l := testFile(t, 1<<20, 2)
	texts := []string{"plain", "", `"quoted" \ back`, "tab\tand \x1b[1mcolour", "grün 漢字 🙂", "\x7f"}
	if n := l.writeLines("stdout", []byte(strings.Join(texts, "\n")+"\nunfinished"), false); n != len(strings.Join(texts, "\n"))+1 {
		t.Errorf("%d bytes taken", n)
	}
	l.writeLines("stderr", []byte("unfinished"), true)
	got := contents(t, l.path)
	for i, text := range append(texts, "unfinished") {
		if got[i].Log != text || !got[i].Time.Equal(noon) || got[i].Partial {
			t.Errorf("line %d is %+v, want %q", i, got[i], text)
		}
	}
	if got[0].Stream != "stdout" || got[len(got)-1].Stream != "stderr" {
		t.Error("streams are mixed up")
	}
}

func TestBytesThatAreNoTextAreMarked(t *testing.T) {
	store := logs.NewStore(filepath.Join(t.TempDir(), "logs"))
	l := newFile(store.Path("t", "c"), 1<<20, 2, 0, time.Now)
	defer l.close()
	l.writeLines("stdout", []byte("a\xff\xfeb\x00\n"), false)
	err := store.Read(t.Context(), spec.LogQuery{Task: "t"}, nil, func(line spec.LogLine) error {
		if line.Text != "a\uFFFD\uFFFDb\uFFFD" {
			t.Errorf("got %q", line.Text)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestALongLineIsCutBetweenCharacters(t *testing.T) {
	l := testFile(t, 1<<30, 2)
	line := "x" + strings.Repeat("é", record.MaxText) + "\n"
	taken := l.writeLines("stdout", []byte(line), false)
	taken += l.writeLines("stdout", []byte(line)[taken:], false)
	if taken != len(line) {
		t.Fatalf("%d of %d bytes taken", taken, len(line))
	}
	var whole strings.Builder
	got := contents(t, l.path)
	for i, d := range got {
		whole.WriteString(d.Log)
		if len(d.Log) > record.MaxText || d.Partial != (i < len(got)-1) {
			t.Errorf("piece %d: %d bytes, partial %v", i, len(d.Log), d.Partial)
		}
	}
	if whole.String()+"\n" != line {
		t.Error("the pieces do not make the line")
	}
}

func TestRotation(t *testing.T) {
	l := testFile(t, 1000, 3)
	for i := range 100 {
		l.writeLines("stdout", fmt.Appendf(nil, "line %d\n", i), false)
	}
	files, _ := filepath.Glob(l.path + "*")
	if len(files) != 3 {
		t.Errorf("files %v", files)
	}
	var all []decoded
	for _, suffix := range []string{".2", ".1", ""} {
		if info, err := os.Stat(l.path + suffix); err != nil || info.Size() > 1000 {
			t.Errorf("%s: %v, %v", suffix, info, err)
		}
		all = append(all, contents(t, l.path+suffix)...)
	}
	for i, d := range all {
		if want := fmt.Sprintf("line %d", 100-len(all)+i); d.Log != want {
			t.Fatalf("line %d is %q, want %q", i, d.Log, want)
		}
	}
}

func TestARestartGoesOnInTheFile(t *testing.T) {
	l := testFile(t, 1<<20, 2)
	l.writeLines("stdout", []byte("one\n"), false)
	l.close()
	l = newFile(l.path, 1<<20, 2, 0, l.now)
	defer l.close()
	l.writeLines("stdout", []byte("two\n"), false)
	if got := contents(t, l.path); len(got) != 2 {
		t.Errorf("got %+v", got)
	}
}

// A file system of a few pages that fills up stands for a full disk.
func TestAFullDiskCostsLinesAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("this test mounts a small file system and needs root: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	ballast := filepath.Join(dir, "ballast")
	now := noon
	l := newFile(filepath.Join(dir, "main.log"), 1<<20, 2, 0, func() time.Time { return now })
	defer l.close()
	l.writeLines("stdout", []byte("before\n"), false)
	if err := os.WriteFile(ballast, make([]byte, 64<<10), 0o600); err == nil {
		t.Fatal("the file system did not fill up")
	}
	for range 10 {
		l.writeLines("stdout", []byte(strings.Repeat("x", 1000)+"\n"), false)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	l.writeLines("stdout", []byte("after\n"), false)
	got := contents(t, l.path)
	kept, lost := 0, 0
	for _, d := range got {
		if strings.HasPrefix(d.Log, "xxx") {
			kept++
		}
		var n int
		if _, err := fmt.Sscanf(d.Log, "pinion: %d lines were lost", &n); err == nil && strings.Contains(d.Log, "no space left") {
			lost += n
		}
	}
	if lost == 0 || kept+lost != 10 {
		t.Errorf("%d lines kept, %d noted as lost, of 10", kept, lost)
	}
	if got[0].Log != "before" || got[len(got)-1].Log != "after" {
		t.Errorf("got %+v", got)
	}
}

func TestAFileThatCannotBeOpenedIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "task")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now := noon
	l := newFile(filepath.Join(blocked, "main.log"), 1<<20, 2, 0, func() time.Time { return now })
	defer l.close()
	l.writeLines("stdout", []byte("lost\n"), false)
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	now = now.Add(reopenDelay)
	l.writeLines("stdout", []byte("kept\n"), false)
	got := contents(t, l.path)
	if len(got) != 2 || !strings.HasPrefix(got[0].Log, "pinion: 1 lines were lost") || got[1].Log != "kept" {
		t.Errorf("got %+v", got)
	}
}

func TestOptions(t *testing.T) {
	o, err := parse([]string{"-max-file", "2", "-file", "/x", "-max-size", "10", "-driver", "awslogs"})
	if err != nil || o != (options{path: "/x", driver: "awslogs", maxSize: 10, maxFiles: 2}) {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := parse([]string{"-file", "/x"}); err != nil || o != (options{path: "/x", driver: "json-file", maxSize: 64 << 20, maxFiles: 4}) {
		t.Errorf("the defaults: %+v, %v", o, err)
	}
	for _, bad := range [][]string{nil, {"-file"}, {"-file", "/x", "-max-size", "0"}, {"-file", "/x", "-max-file", "many"}, {"-what", "x"}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestTheLogGroupIsNotedBesideTheLog(t *testing.T) {
	l := testFile(t, 1<<20, 1)
	l.writeNotice(".group", "/research/train")
	l.writeNotice(".group", "another") // of a container that is started again
	path := strings.TrimSuffix(l.path, ".log") + ".group"
	if got, err := os.ReadFile(path); err != nil || string(got) != "/research/train" {
		t.Errorf("%q %v", got, err)
	}
}
