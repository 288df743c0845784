package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A file system of 4 MiB stands for the host's disk.
func TestALogStopsAboveTheFloorOfTheDiskAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatalf("this test mounts a small file system and needs root: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	const floor = 1 << 20
	l := newFile(filepath.Join(dir, "main.log"), 1<<30, 2, floor, func() time.Time { return noon })
	defer l.close()
	line := strings.Repeat("x", 1000) + "\n"
	storm := []byte(strings.Repeat(line, 32))
	for range 500 { // 16 MB
		if taken := l.writeLines("stdout", storm, false); taken != len(storm) {
			t.Fatalf("the container waits: %d bytes of %d were taken", taken, len(storm))
		}
	}
	if free := freeSpace(l.f.Fd()); free < floor-64<<10 || free > 2*floor {
		t.Errorf("%d KiB are free, the floor is %d", free>>10, floor>>10)
	}
	if got := contents(t, l.path); !strings.HasPrefix(got[len(got)-1].Log, "pinion: the log stops here for now") {
		t.Errorf("it ends with %+v", got[len(got)-1])
	}
	if err := os.Truncate(l.path, 0); err != nil {
		t.Fatal(err)
	}
	l.writeLines("stdout", []byte("after\n"), false)
	got := contents(t, l.path)
	if len(got) != 2 || !strings.HasPrefix(got[0].Log, "pinion: ") || !strings.Contains(got[0].Log, "--min-free") || got[1].Log != "after" {
		t.Errorf("got %+v", got)
	}
}

func TestALogEndsATornRecordAndGoesOnInTime(t *testing.T) {
	now := noon.Add(time.Hour)
	path := filepath.Join(t.TempDir(), "main.log")
	l := newFile(path, 1<<20, 2, 0, func() time.Time { return now })
	l.writeLines("stdout", []byte("one\n"), false)
	l.close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("1767322800000000006 o 1"); err != nil {
		t.Fatal(err)
	}
	now = noon // the clock was set back
	l = newFile(path, 1<<20, 2, 0, func() time.Time { return now })
	defer l.close()
	l.writeLines("stdout", []byte("two\n"), false)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(lines) != 3 || lines[2] != fmt.Sprintf("%d o 3 two", noon.Add(time.Hour+1).UnixNano()) {
		t.Errorf("%q", lines)
	}
}
