package rpc

import (
	"context"
	"errors"
	"testing"

	"pinion/raftfsm/spec"
)

func TestARequestThatGaveUpBeforeItsTurnChangesNothing(t *testing.T) {
	release, carried := make(chan struct{}), make(chan []int, 2)
	b := Batcher[int, int]{MaxBatch: 10, Handle: func(in []int) []int {
		carried <- in
		<-release
		return in
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Do(context.Background(), 1)
	}()
	<-carried // the first batch is under way

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Do(ctx, 2); !errors.Is(err, spec.ErrUnavailable) || errors.Is(err, spec.ErrOutcomeUnknown) {
		t.Errorf("got %v", err)
	}
	close(release)
	<-done
	if len(carried) != 0 {
		t.Error("the request that was withdrawn was carried out")
	}
}

func TestABatcherRefusesMoreThanMayWait(t *testing.T) {
	release, handled := make(chan struct{}), make(chan []int, 4)
	b := Batcher[int, int]{MaxBatch: 10, MaxWaiting: 2, Handle: func(in []int) []int {
		handled <- in
		<-release
		return in
	}}
	answers := make(chan error, 4)
	ask := func(in int) {
		go func() {
			_, err := b.Do(context.Background(), in)
			answers <- err
		}()
	}
	ask(1)
	<-handled // the first batch is in flight
	ask(2)
	ask(3)
	ask(4) // of these three one is refused, whichever comes last
	if err := <-answers; !errors.Is(err, spec.ErrBusy) {
		t.Errorf("the queue is full, the answer was %v", err)
	}
	close(release)
	for range 3 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if second := <-handled; len(second) != 2 {
		t.Errorf("the second batch is %v", second)
	}
}
