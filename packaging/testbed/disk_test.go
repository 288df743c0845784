package testbed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func withDisks(t *testing.T, hosts int) Config {
	p := testConfig(t, hosts)
	p.Disk = 64 << 20
	return p
}

func TestAHostHasADiskOfItsOwnThatFillsUpAlone(t *testing.T) {
	b := newTestbed(t, withDisks(t, 2))
	if err := b.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	one, two := b.hosts[0], b.hosts[1]
	write := func(h *Host) error {
		return os.WriteFile(filepath.Join(h.Dir, "more"), make([]byte, 1<<20), 0o600)
	}
	if err := one.Disk.Fill(); err != nil {
		t.Fatal(err)
	}
	if err := write(one); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("on the full disk: %v", err)
	}
	if err := write(two); err != nil {
		t.Errorf("on the other: %v", err)
	}
	if err := errors.Join(one.Disk.Free(), write(one)); err != nil {
		t.Errorf("emptied: %v", err)
	}
	if err := one.Disk.Fill(); err != nil { // Down must cope with it
		t.Fatal(err)
	}
	if err := b.Down(t.Context()); err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, b)
}

func TestWhoWritesToAFrozenDiskWaitsForTheThaw(t *testing.T) {
	b := newTestbed(t, withDisks(t, 1))
	h := b.hosts[0]
	if err := h.Disk.Freeze(); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(filepath.Join(h.Disk.mount, "late"), nil, 0o600) }()
	err := poll(t.Context(), "nobody waits for the disk", func() (bool, error) {
		select {
		case err := <-written:
			return false, fmt.Errorf("written to a frozen disk: %w", err)
		default:
			return hasBlockedThread(t), nil
		}
	})
	if err != nil {
		t.Error(err)
	}
	if err := h.Disk.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
	if err := h.Disk.Freeze(); err != nil { // Down must cope with it
		t.Fatal(err)
	}
	if err := b.Down(t.Context()); err != nil {
		t.Error(err)
	}
	checkNothingLeft(t, b)
}

// hasBlockedThread reports whether a thread of this process waits in the kernel and cannot be interrupted, as for a disk.
func hasBlockedThread(t *testing.T) bool {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(threads, func(thread os.DirEntry) bool {
		id, _ := strconv.Atoi(thread.Name())
		is, ok := readStat(id)
		return ok && is.state == "D"
	})
}

func TestWritesOfOnePinionCanBeMadeToFail(t *testing.T) {
	p := testConfig(t, 1)
	script := `#!/bin/sh
trap '' XFSZ
echo Pinion is ready at https://host1
n=0
while :; do echo x > $(dirname $0)/try && echo failed $n times || n=$((n+1)); sleep 0.005; done
`
	if err := os.WriteFile(p.Binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b := newTestbed(t, p)
	if err := b.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	said := func(text string) func() (bool, error) {
		return func() (bool, error) {
			return regexp.MustCompile(text).MatchString(b.hosts[0].Output()), nil
		}
	}
	err := poll(t.Context(), "it writes", said("failed 0 times"))
	err = errors.Join(err, poll(t.Context(), "it failed to write, and writes again", func() (bool, error) {
		err := b.hosts[0].FailWrites(t.Context(), 100*time.Millisecond, 1) // it may not have come to write in this time
		failed, _ := said("failed [1-9][0-9]* times")()
		return failed, err
	}))
	if err := errors.Join(err, b.Down(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestHostsThatShareADiskAreSparedItsFaults(t *testing.T) {
	b := newTestbed(t, testConfig(t, 1))
	if err := errors.Join(b.hosts[0].Disk.Freeze(), b.hosts[0].Disk.Fill()); !errors.Is(err, errNoDisk) {
		t.Errorf("got %v", err)
	}
}
