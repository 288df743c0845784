package rpc

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm/spec"
)

// fakeLeader is a leader that a test sets.
type fakeLeader struct {
	*LeaderTracker
	address atomic.Value
}

func newFakeLeader(address string) *fakeLeader {
	f := &fakeLeader{}
	f.address.Store(address)
	f.LeaderTracker = NewLeaderTracker(func() (string, bool) { return f.address.Load().(string), false })
	return f
}

func (f *fakeLeader) set(address string) {
	f.address.Store(address)
	f.Refresh()
}

func TestACallToTheLeaderEndsWhenAnotherHostLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := newFakeLeader("a")
		ctx, release := leader.While(t.Context(), "a")
		defer release()
		elsewhere, over := leader.While(t.Context(), "b") // as a call for the log of a task there
		defer over()
		quick, done := leader.While(t.Context(), "a")
		done()

		leader.set("") // an election: the leader may win it
		synctest.Wait()
		if ctx.Err() != nil {
			t.Error("it ended before another host led")
		}
		leader.set("b")
		synctest.Wait()
		if context.Cause(ctx) != ErrLeaderChanged {
			t.Errorf("another host leads, and the call goes on: %v", context.Cause(ctx))
		}
		leader.set("a")
		synctest.Wait()
		if elsewhere.Err() != nil || quick.Err() != nil {
			t.Error("other calls ended too")
		}
	})
}

func TestACallForALeaderWaitsForOneWithoutAskingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := newFakeLeader("")
		go func() {
			time.Sleep(time.Second)
			leader.set("a")
		}()
		began := time.Now()
		address, _, err := leader.Await(t.Context())
		if address != "a" || err != nil || time.Since(began) != time.Second {
			t.Errorf("%q, %v after %v", address, err, time.Since(began))
		}
		leader.set("")
		if _, _, err := leader.Await(t.Context()); !errors.Is(err, spec.ErrNotLeader) || time.Since(began) != time.Second+LeaderTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestACallIsRepeatedUntilALeaderAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := newFakeLeader("a")
		go func() {
			time.Sleep(2 * time.Second)
			leader.set("b")
		}()
		began, tries := time.Now(), 0
		err := leader.Call(t.Context(), func(_ context.Context, address string, _ bool) (again bool, err error) {
			tries++
			if address == "a" {
				err = spec.ErrNotLeader
			}
			return Repeatable(err), err
		})
		if err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if tries > 16 {
			t.Errorf("%d tries in two seconds", tries)
		}
		for _, final := range []error{spec.ErrReadOnly, spec.ErrClosed, spec.ErrInUse} {
			if Repeatable(final) {
				t.Errorf("%v would be repeated", final)
			}
		}
	})
}

func TestACallEndsWithItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := newFakeLeader("")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel(spec.ErrClosed)
		}()
		err := leader.Call(ctx, func(context.Context, string, bool) (bool, error) { return false, nil })
		if !errors.Is(err, spec.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}
