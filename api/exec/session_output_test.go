package exec

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/exec/datachannel"
	"pinion/raftfsm/execcommand"
)

// floodHost runs commands that never stop writing, and returns as a container runtime does: when the output has an end, too.
type floodHost struct{}

func (floodHost) Exec(ctx context.Context, r execcommand.Request) (int, error) {
	var copying sync.WaitGroup
	copying.Go(func() {
		for ctx.Err() == nil {
			if _, err := r.Stdout.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	<-ctx.Done()
	copying.Wait()
	return 0, ctx.Err()
}

func TestASessionEndsWhoseClientTakesNoOutput(t *testing.T) {
	for name, leave := range map[string]bool{"a client that has gone": true, "a client that is still there": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSessions()
				s.Setup(floodHost{}, hostID, nil, nil)
				p := &plugin{t: t, conn: s.connect(t, open(t, s, request(true)))}
				p.shakeHands()
				p.send(datachannel.Size, `{"cols":80,"rows":24}`)
				synctest.Wait()
				if leave {
					p.conn.Close("")
				}
				time.Sleep(IdleTimeout + time.Minute)
				if s.count() != 0 {
					t.Error("it is still there")
				}
				p.conn.Close("")
			})
		})
	}
}

// Two connections may be read at once, for a moment: what both bring is input once, and of the first none.
func TestOfTwoConnectionsOneIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		opened := open(t, s, request(true))
		first := &plugin{t: t, conn: s.connect(t, opened)}
		first.shakeHands()
		synctest.Wait()
		again, err := s.Resume(opened.ID, "AKIA")
		if err != nil {
			t.Fatal(err)
		}
		second := &plugin{t: t, conn: s.connect(t, again), next: first.next}
		synctest.Wait()
		stale := datachannel.Message{Type: datachannel.Input, Sequence: first.next, PayloadType: datachannel.Data, Payload: []byte("stale"), Created: time.Now()}
		first.conn.Write(stale.Append(nil)) // it may be closed by now
		second.send(datachannel.Data, "fresh")
		if m := second.receive(false); string(m.Payload) != "FRESH" {
			t.Errorf("it says %q", m.Payload)
		}
		second.conn.Close("")
		time.Sleep(2 * resumeTimeout)
	})
}

// The last output waits for a client whose link was cut meanwhile.
func TestTheLastOutputWaitsForItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		opened := open(t, s, request(true))
		p := &plugin{t: t, conn: s.connect(t, opened)}
		p.shakeHands()
		p.send(datachannel.Data, "last")
		p.receive(true)
		found, err := s.find(opened.ID)
		if err != nil {
			t.Fatal(err)
		}
		p.conn.Close("")
		synctest.Wait()
		found.client.(*dataChannel).input.close() // the command ends by itself
		time.Sleep(resumeTimeout / 2)
		again, err := s.Resume(opened.ID, "AKIA")
		if err != nil {
			t.Fatal(err)
		}
		p.conn = s.connect(t, again)
		if m := p.receive(false); string(m.Payload) != "LAST" {
			t.Errorf("it says %q", m.Payload)
		}
		if m := p.receive(false); m.Type != datachannel.ChannelClosed {
			t.Errorf("then %+v", m)
		}
	})
}
