package gpulock_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pinion/gpu"
	"pinion/node/gpulock"
)

// source has devices with processes on them.
type source struct {
	gpu.Source
	processes map[string][]int
	gone      map[string]bool
}

func (s *source) Processes(_ context.Context, uuid string) ([]int, error) {
	if s.gone[uuid] {
		return nil, errors.New("no such device")
	}
	return s.processes[uuid], nil
}

func (s *source) Inventory(context.Context) (gpu.Inventory, error) {
	var inventory gpu.Inventory
	for _, uuid := range []string{"GPU-a", "GPU-b"} {
		if !s.gone[uuid] {
			inventory.Devices = append(inventory.Devices, gpu.Device{UUID: uuid})
		}
	}
	return inventory, nil
}

func newLocks() (*gpulock.Locks, *source) {
	s := &source{processes: map[string][]int{}, gone: map[string]bool{}}
	return gpulock.New(s, slog.New(slog.DiscardHandler)), s
}

func TestGPUsAreTakenTogetherOrNotAtAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, _ := newLocks()
		locks.Claim("t1", []string{"GPU-b"}, false)
		var unchecked []string
		done := make(chan error, 1)
		go func() {
			var err error
			unchecked, err = locks.Acquire(t.Context(), "t2", []string{"GPU-a", "GPU-b"}, false)
			done <- err
		}()
		synctest.Wait()
		if held := locks.ReleaseShared("t2"); len(held) > 0 {
			t.Errorf("while it waits the task holds %v", held)
		}
		locks.Release("t1")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(unchecked, []string{"GPU-a"}) { // GPU-b was found idle before its release
			t.Errorf("to be checked are %v, want GPU-a", unchecked)
		}
		if held := locks.ReleaseShared("t2"); !slices.Equal(held, []string{"GPU-a", "GPU-b"}) {
			t.Errorf("the task holds %v", held)
		}
	})
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, _ := newLocks()
		locks.Claim("t1", []string{"GPU-a"}, false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := locks.Acquire(ctx, "t2", []string{"GPU-a"}, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Acquire returned %v", err)
		}
	})
}

func TestWaitIdleWaitsForProcessesAndNotForLostDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, s := newLocks()
		s.processes["GPU-a"] = []int{7}
		s.gone["GPU-b"] = true
		time.AfterFunc(3*time.Second, func() { delete(s.processes, "GPU-a") })
		begin, reasons := time.Now(), 0
		if err := locks.WaitIdle(t.Context(), []string{"GPU-a", "GPU-b"}, func(string) { reasons++ }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 3*time.Second || took > 5*time.Second || reasons != 1 {
			t.Errorf("it took %v with %d reasons, want 3 to 5 s with one", took, reasons)
		}
	})
}

// acquire begins to take a GPU and says over the channel what has to be checked.
func acquire(t *testing.T, locks *gpulock.Locks, task string, shared bool) (taken chan []string) {
	taken = make(chan []string, 1)
	go func() {
		unchecked, err := locks.Acquire(t.Context(), task, []string{"GPU-a"}, shared)
		if err == nil {
			taken <- unchecked
		}
	}()
	synctest.Wait()
	return taken
}

func TestAGPUIsSharedByThoseThatShareAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks, _ := newLocks()
		if unchecked := <-acquire(t, locks, "first", true); !slices.Equal(unchecked, []string{"GPU-a"}) {
			t.Errorf("to be checked are %v", unchecked)
		}
		second := acquire(t, locks, "second", true)
		if len(second) > 0 {
			t.Error("a GPU was shared before it was found idle")
		}
		locks.Checked("first", []string{"GPU-a"})
		if unchecked := <-second; len(unchecked) > 0 {
			t.Errorf("the second waits for %v to be idle, which the first uses", unchecked)
		}
		whole := acquire(t, locks, "whole", false)
		if alone := locks.ReleaseShared("first"); len(alone) > 0 {
			t.Errorf("the first leaves %v to nobody, which the second shares", alone)
		}
		if shared := locks.Shared(); len(whole) > 0 || !slices.Equal(shared, []string{"GPU-a"}) {
			t.Errorf("a task owns a GPU that another shares; shared are %v", shared)
		}
		alone := locks.ReleaseShared("second")
		late := acquire(t, locks, "late", true)
		if !slices.Equal(alone, []string{"GPU-a"}) || len(whole) > 0 || len(late) > 0 {
			t.Errorf("the last one leaves %v, and others come while it is made ready", alone)
		}
		locks.Release("second")
		synctest.Wait()
		for len(whole) == 0 { // either may be first
			<-late
			locks.ReleaseShared("late")
			locks.Release("late")
			synctest.Wait()
		}
		if unchecked := <-whole; len(unchecked) > 0 {
			t.Errorf("to be checked are %v, which the last of the shares has checked", unchecked)
		}
		if len(late) > 0 {
			t.Error("a task shares a GPU that another owns")
		}
		shares := acquire(t, locks, "third", true)
		locks.Checked("whole", []string{"GPU-a"})
		if synctest.Wait(); len(shares) > 0 {
			t.Error("a task shares a GPU that another owns")
		}
		locks.Release("whole")
		<-shares
	})
}
