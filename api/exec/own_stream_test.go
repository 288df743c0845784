package exec

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/exec/stream"
	"pinion/raftfsm/execcommand"
)

// countHost runs commands that write something each millisecond, and counts what is taken of them.
type countHost struct{ written atomic.Int64 }

func (h *countHost) Exec(ctx context.Context, r execcommand.Request) (int, error) {
	for ctx.Err() == nil {
		if _, err := r.Stdout.Write(make([]byte, 1000)); err != nil {
			return 0, err
		}
		h.written.Add(1)
		time.Sleep(time.Millisecond)
	}
	return 0, ctx.Err()
}

// A browser reads messages whether it has use for them or not, so a client can hold output back.
func TestAClientHoldsOutputBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, host := newSessions(), &countHost{}
		s.Setup(host, hostID, nil, nil)
		client := s.connect(t, open(t, s, request(false)))
		client.Write([]byte{byte(stream.Pause)})
		synctest.Wait()
		held := host.written.Load()
		time.Sleep(time.Minute)
		if now := host.written.Load(); now != held {
			t.Errorf("%d writes of a command whose output is held back", now-held)
		}
		client.Write([]byte{byte(stream.Resume)})
		time.Sleep(100 * time.Millisecond)
		if host.written.Load() == held {
			t.Error("its output does not go on")
		}
		client.Close("")
		time.Sleep(time.Second)
		if s.count() != 0 {
			t.Error("it is still there")
		}
	})
}

// copyHost runs commands that write what they read.
type copyHost struct{}

func (copyHost) Exec(_ context.Context, r execcommand.Request) (int, error) {
	_, err := io.Copy(r.Stdout, r.Stdin)
	return 0, err
}

// deafHost runs commands that read nothing.
type deafHost struct{}

func (deafHost) Exec(ctx context.Context, _ execcommand.Request) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// The message by which a client lets output go on would wait behind input that the command does not read: the session ends instead of standing still.
func TestAClientThatHoldsOutputBackSendsNoMoreThanIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		s.Setup(copyHost{}, hostID, nil, nil)
		client := s.connect(t, open(t, s, request(false)))
		client.Write([]byte{byte(stream.Pause)})
		for range 40 { // of 16 KiB
			client.Write(append([]byte{byte(stream.Stdin)}, make([]byte, 16<<10)...))
		}
		time.Sleep(10 * time.Second)
		if s.count() != 0 {
			t.Error("it stands still")
		}
	})
}

// Input that nobody reads hides that the client is gone, until the host has something to say.
func TestASessionEndsWhoseInputIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		s.Setup(deafHost{}, hostID, nil, nil)
		client := s.connect(t, open(t, s, request(false)))
		for range 20 { // of 16 KiB: the last waits
			client.Write(append([]byte{byte(stream.Stdin)}, make([]byte, 16<<10)...))
		}
		time.Sleep(3 * presence)
		if s.count() != 1 {
			t.Error("a client that waits is sent away")
		}
		client.Close("")
		time.Sleep(3 * presence)
		if s.count() != 0 {
			t.Error("it is still there")
		}
	})
}

// A client that leaves while it holds output back holds up nobody.
func TestAClientLeavesWhileItHoldsOutputBack(t *testing.T) {
	for name, stays := range map[string]time.Duration{"it closes": 0, "it stays for too long": writeTimeout} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, host := newSessions(), &countHost{}
				s.Setup(host, hostID, nil, nil)
				client := s.connect(t, open(t, s, request(false)))
				client.Write([]byte{byte(stream.Pause)})
				synctest.Wait()
				time.Sleep(stays)
				if stays == 0 {
					client.Close("")
				}
				time.Sleep(time.Second)
				if s.count() != 0 {
					t.Error("it is still there")
				}
			})
		})
	}
}
