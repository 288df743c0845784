package consensus

import (
	"context"
	"errors"
	"testing"

	"pinion/raftfsm/spec"
)

func TestACallIsRefusedAndNotKeptWaitingWhileCloseWaitsForAnother(t *testing.T) {
	n := start(t, config(t.TempDir()))
	release, err := n.AcquireCall()
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- n.Close() }()
	<-n.life.Done()
	for range 2 { // a call, and one that it makes in turn
		if _, err := n.View(t.Context()); !errors.Is(err, spec.ErrClosed) {
			t.Errorf("a read while the server shuts down: %v", err)
		}
	}
	select {
	case err := <-closed:
		t.Errorf("Close did not wait for the call in progress: %v", err)
	default:
	}
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if !errors.Is(context.Cause(n.life), spec.ErrClosed) {
		t.Errorf("the server's life ended with %v", context.Cause(n.life))
	}
}
