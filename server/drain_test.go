package server

import (
	"context"
	"errors"
	"testing"
)

func TestACallIsRefusedAndNotKeptWaitingWhileCloseWaitsForAnother(t *testing.T) {
	s := start(t, config(t.TempDir()))
	if err := s.acquire(); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-s.life.Done()
	for range 2 { // a call, and one that it makes in turn
		if _, err := s.View(t.Context()); !errors.Is(err, errClosed) {
			t.Errorf("a read while the server shuts down: %v", err)
		}
	}
	select {
	case err := <-closed:
		t.Errorf("Close did not wait for the call in progress: %v", err)
	default:
	}
	s.drain.release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if !errors.Is(context.Cause(s.life), errClosed) {
		t.Errorf("the server's life ended with %v", context.Cause(s.life))
	}
}
