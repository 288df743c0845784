package exec

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/exec/stream"
	"pinion/raftfsm/execution"
)

// countHost runs commands that write something each millisecond, and counts what is taken of them.
type countHost struct{ written atomic.Int64 }

func (h *countHost) Exec(ctx context.Context, r execution.Request) (int, error) {
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
