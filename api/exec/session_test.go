package exec

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/exec/datachannel"
	"pinion/api/exec/stream"
)

const hostID = "0123456789abcdef0123456789abcdef"

func TestASessionWithoutUseEnds(t *testing.T) {
	for name, dataChannel := range map[string]bool{"of a data channel": true, "of Pinion's own": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSessions()
				client := s.connect(t, open(t, s, request(dataChannel)))
				if dataChannel {
					p := &plugin{t: t, conn: client}
					p.shakeHands()
				}
				time.Sleep(IdleTimeout - time.Minute)
				if s.count() != 1 {
					t.Fatal("it ended before its time")
				}
				time.Sleep(2 * time.Minute)
				if s.count() != 0 {
					t.Error("it is still there")
				}
			})
		})
	}
}

func TestASilentCommandOfAProgramGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		r := request(false)
		r.TTY = false
		client := s.connect(t, open(t, s, r))
		time.Sleep(10 * IdleTimeout)
		if s.count() != 1 {
			t.Fatal("it has ended")
		}
		client.Close("")
		time.Sleep(time.Second)
		if s.count() != 0 {
			t.Error("it goes on without its client")
		}
	})
}

func TestASessionThatNobodyConnectsToEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		opened := open(t, s, request(true))
		time.Sleep(openTimeout + 2*time.Second)
		if _, err := s.claim(opened.ID, opened.Token); err == nil || s.count() != 0 {
			t.Errorf("%d are there, %v", s.count(), err)
		}
	})
}

func TestAClientThatSaysNothingIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		s.connect(t, open(t, s, request(true)))
		time.Sleep(handshakeTimeout + 2*time.Second + finishTimeout)
		if s.count() != 0 {
			t.Error("it is still there")
		}
	})
}

func TestATokenIsGoodOnceAndForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		opened := open(t, s, request(true))
		if _, err := s.claim(opened.ID, opened.Token+"0"); err == nil {
			t.Error("another token is taken")
		}
		s.connect(t, opened)
		if _, err := s.claim(opened.ID, opened.Token); err == nil {
			t.Error("the token is taken twice")
		}
		again, err := s.Resume(opened.ID, "AKIA")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(openTimeout)
		if _, err := s.claim(again.ID, again.Token); err == nil {
			t.Error("the token is taken after a minute")
		}
		for _, id := range []string{"OTHER", ""} {
			if _, err := s.Resume(opened.ID, id); err == nil {
				t.Errorf("key %q resumes it", id)
			}
			if err := s.Terminate(opened.ID, id); err == nil {
				t.Errorf("key %q ends it", id)
			}
		}
		s.Terminate(opened.ID, "AKIA")
		time.Sleep(finishTimeout + time.Second)
	})
}

func TestASessionOutlivesItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		opened := open(t, s, request(true))
		p := &plugin{t: t, conn: s.connect(t, opened)}
		p.shakeHands()
		p.send(datachannel.Data, "one")
		if m := p.receive(false); string(m.Payload) != "ONE" {
			t.Fatalf("it says %q", m.Payload)
		}
		p.send(datachannel.Data, "two")
		if m := p.receive(true); string(m.Payload) != "TWO" { // the link is cut before it can be acknowledged
			t.Fatalf("it says %q", m.Payload)
		}
		p.conn.Close("")
		synctest.Wait()
		again, err := s.Resume(opened.ID, "AKIA")
		if err != nil {
			t.Fatal(err)
		}
		p.conn = s.connect(t, again)
		if m := p.receive(false); string(m.Payload) != "TWO" {
			t.Errorf("it says %q", m.Payload)
		}
		p.send(datachannel.Data, "three")
		if m := p.receive(false); string(m.Payload) != "THREE" {
			t.Errorf("it says %q", m.Payload)
		}
		p.conn.Close("")
		time.Sleep(resumeTimeout + 2*time.Second + finishTimeout)
		if s.count() != 0 {
			t.Error("a session whose client stays away is still there")
		}
	})
}

func TestAClientIsToldHowItsCommandEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		client := s.connect(t, open(t, s, request(false)))
		client.Write(append([]byte{byte(stream.Stdin)}, "hello"...))
		if message, err := client.Read(t.Context()); err != nil || string(message[1:]) != "HELLO" || stream.Kind(message[0]) != stream.Stdout {
			t.Errorf("it says %q, %v", message, err)
		}
		client.Write([]byte{byte(stream.StdinEnd)})
		if message, err := client.Read(t.Context()); err != nil || string(message[1:]) != `{"exitCode":3}` || stream.Kind(message[0]) != stream.Exit {
			t.Errorf("it ends with %q, %v", message, err)
		}
	})
}

func TestAHostHasABoundOfSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSessions()
		r := request(true)
		for n, want := range []int{256, 128, 64, 32, 16, 8, 4, 2, 1, 1, 0} { // each takes all that it gets
			r.Owner = fmt.Sprint("role ", n)
			opened := 0
			for ; opened <= maxSessions; opened++ {
				r.Principal = fmt.Sprintf("arn:%d/%d", n, opened) // each task of a role is a principal
				if _, err := s.Open(r); err != nil {
					break
				}
			}
			if opened != want {
				t.Errorf("holder %d has %d sessions, want %d", n, opened, want)
			}
		}
		time.Sleep(2 * openTimeout)
		open(t, s, r)
		time.Sleep(2 * openTimeout)
	})
}

func TestCommandsThatNobodyCouldRunAreRefused(t *testing.T) {
	for _, command := range [][]string{nil, {""}, {"sh", "a\x00b"}, {strings.Repeat("x", maxCommandLength+1)}, make([]string, maxArguments+1)} {
		r := request(false)
		r.Command = command
		if _, err := newSessions().Open(r); err == nil {
			t.Errorf("%.60q is taken", command)
		}
	}
}

// FuzzDataChannel: whatever a client sends, it ends its own connection at worst.
func FuzzDataChannel(f *testing.F) {
	response := (&datachannel.Message{Type: datachannel.Input, PayloadType: datachannel.HandshakeResponse, Payload: []byte(`{}`), Created: time.Now()}).Append(nil)
	f.Add(response, (&datachannel.Message{Type: datachannel.Input, Sequence: 1, PayloadType: datachannel.Size, Payload: []byte(`{"cols":1}`), Created: time.Now()}).Append(nil))
	f.Add((&datachannel.Message{Type: datachannel.Acknowledge, Payload: []byte(`{}`), Created: time.Now()}).Append(nil), []byte("garbage"))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		c := newDataChannel("s", func() {}, func(error) {})
		_, host := newPipe()
		c.take(host)
		for _, text := range [][]byte{one, two, one} {
			if err := c.receive(host, text); err != nil && !errors.Is(err, datachannel.ErrMalformed) {
				t.Fatal(err)
			}
		}
		if queued := len(c.input.bytes); queued > 3*datachannel.MaxPayload {
			t.Fatalf("%d bytes are queued", queued)
		}
	})
}
