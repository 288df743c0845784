package virtualip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pinion/node/machine"
	"pinion/raftfsm/iplease"
)

// script is a leader and a device for one keeper, in simulated time.
type script struct {
	answer   iplease.Answer
	silent   bool
	taken    error // of Check
	stuck    bool  // Remove fails
	asked    []iplease.Request
	has      bool
	until    time.Time // the kernel removes the address
	told     int
	problems []string
}

func (s *script) AskVirtualIP(ctx context.Context, _ string, r iplease.Request) (iplease.Answer, error) {
	s.asked = append(s.asked, r)
	if s.silent {
		<-ctx.Done()
		return iplease.Answer{}, context.Cause(ctx)
	}
	return s.answer, nil
}

func (s *script) Check(context.Context) error { return s.taken }
func (s *script) Announce() error             { s.told++; return nil }

func (s *script) Take(_ context.Context, lifetime time.Duration) error { return s.Extend(lifetime) }

func (s *script) Extend(lifetime time.Duration) error {
	s.has, s.until = true, time.Now().Add(lifetime)
	return nil
}

func (s *script) Remove() error {
	if s.stuck {
		return errors.New("no such device")
	}
	s.has = false
	return nil
}

// play runs a keeper beside a test.
func play(t *testing.T, test func(s *script, stop context.CancelFunc)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s, began := &script{}, time.Now()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Run(ctx, Config{
				HostID: "h", Starts: 7, Control: s, Device: func(iplease.Offer) Device { return s },
				Problem: func(ip, problem string) { s.problems = append(s.problems, ip+": "+problem) },
				Boot:    machine.BootClock{Since: func() time.Duration { return time.Since(began) }}, Log: slog.New(slog.DiscardHandler),
			}, []iplease.Offer{{IP: "10.0.0.100", Bits: 24}})
		}()
		test(s, func() { stop(); <-ended })
		stop()
		<-ended
	})
}

func (s *script) last() iplease.Request { return s.asked[len(s.asked)-1] }

func TestAHostHasAVirtualIPWhileTheLeaderSaysSo(t *testing.T) {
	play(t, func(s *script, _ context.CancelFunc) {
		time.Sleep(5 * time.Second)
		if s.has || s.last() != (iplease.Request{IP: "10.0.0.100", Starts: 7}) {
			t.Fatalf("it has the address unasked: %+v", s)
		}
		s.answer.Epoch = 3
		time.Sleep(5 * time.Second)
		if !s.has || s.last().Held != 3 || time.Until(s.until) > iplease.Duration || s.told != announcements {
			t.Fatalf("%+v", s)
		}
		s.answer.Epoch = 0
		time.Sleep(5 * time.Second)
		if s.has || s.last().Held != 0 || s.last().Released != 3 {
			t.Fatalf("it does not give the address up, or does not say so: %+v", s)
		}
		s.answer.Epoch = 3 // an answer from before
		time.Sleep(5 * time.Second)
		if s.has {
			t.Fatal("it takes the address again under an epoch that it gave up")
		}
		s.answer.Epoch = 4
		time.Sleep(5 * time.Second)
		if !s.has || s.last().Held != 4 {
			t.Fatalf("%+v", s)
		}
	})
}

func TestAHostTakesAVirtualIPOffWhenItsLeaseEnds(t *testing.T) {
	play(t, func(s *script, _ context.CancelFunc) {
		s.answer.Epoch = 1
		time.Sleep(5 * time.Second)
		s.silent = true
		time.Sleep(iplease.Duration)
		if s.has || s.last().Released != 0 {
			t.Fatalf("%+v", s)
		}
		s.silent = false
		time.Sleep(2 * time.Second)
		if !s.has {
			t.Fatal("it does not take the address again, which no other host was given")
		}
	})
}

// A host that reports an address as given up has removed it.
func TestAHostThatCannotRemoveAVirtualIPDoesNotSayThatItDid(t *testing.T) {
	play(t, func(s *script, _ context.CancelFunc) {
		s.answer.Epoch = 1
		time.Sleep(5 * time.Second)
		s.answer.Epoch, s.stuck = 0, true
		time.Sleep(5 * time.Second)
		if s.last().Released != 0 {
			t.Fatalf("%+v", s.last())
		}
		s.stuck = false
		time.Sleep(time.Second)
		if s.has || s.last().Released != 1 {
			t.Fatalf("%+v", s)
		}
	})
}

func TestAHostGivesAVirtualIPUpWhenItStops(t *testing.T) {
	play(t, func(s *script, stop context.CancelFunc) {
		s.answer.Epoch = 1
		time.Sleep(5 * time.Second)
		stop()
		if s.has || s.last().Released != 1 {
			t.Fatalf("%+v", s)
		}
	})
}

func TestAnAddressThatAnUnknownMachineHasIsNotTaken(t *testing.T) {
	play(t, func(s *script, _ context.CancelFunc) {
		s.taken = fmt.Errorf("in use: %w", ErrTaken)
		time.Sleep(20 * time.Second)
		if s.problems != nil {
			t.Fatalf("that another host has it is no problem: %v", s.problems)
		}
		s.answer.Epoch = 1
		time.Sleep(time.Second)
		want := []string{"10.0.0.100: in use: another machine has the address"}
		if s.has || s.last().Released != 1 || !slices.Equal(s.problems, want) {
			t.Fatalf("%+v", s)
		}
		s.answer.Epoch = 0
		time.Sleep(time.Minute)
		if !slices.Equal(s.problems, want) {
			t.Fatalf("the problem is told again: %v", s.problems)
		}
		s.answer.Elsewhere = true // so it was free
		time.Sleep(time.Second)
		if want = append(want, "10.0.0.100: "); !slices.Equal(s.problems, want) {
			t.Fatalf("%v", s.problems)
		}
	})
}
