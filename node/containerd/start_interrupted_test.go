package containerd_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAStartWithoutItsNoteCountsAsStarted takes away what Pinion writes down after a start, as when it dies in between.
func TestAStartWithoutItsNoteCountsAsStarted(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("sleep 100"))
	marks, err := filepath.Glob(filepath.Join(h.config.Dir, "*", c.ID))
	if err != nil || len(marks) != 1 {
		t.Fatalf("notes of the start: %v, %v", marks, err)
	}
	if err := os.Remove(marks[0]); err != nil {
		t.Fatal(err)
	}
	found, err := h.runtime.List(h.ctx())
	if err != nil || len(found) != 1 || found[0].StartedAt.IsZero() || found[0].PID == 0 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// Pinion dies before it starts a process that it has created, and again while it removes that container: no process of it has run,
// and it is made anew.
func TestAContainerThatWasOnlyCreatedIsNotTakenForOneThatRan(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.task(sh("true"))
	if err := h.runtime.Create(h.ctx(), c); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return nil },
		func() error { return h.runtime.KillToRemove(h.ctx(), c.ID) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		found, err := h.runtime.List(h.ctx())
		if err != nil || len(found) != 1 || !found[0].StartedAt.IsZero() || found[0].Exit != nil {
			t.Errorf("found %+v, %v", found, err)
		}
	}
	if err := h.runtime.Remove(h.ctx(), c.ID); err != nil {
		t.Fatal(err)
	}
	if err := h.runtime.Start(h.ctx(), c); err != nil {
		t.Fatal(err)
	}
	if exit := h.wait(c); exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
}
