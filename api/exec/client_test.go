package exec

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/api/exec/datachannel"
	"pinion/raftfsm/execcommand"
)

// echoHost runs commands that answer with their input in capitals, until the input ends.
type echoHost struct{}

func (echoHost) Exec(ctx context.Context, r execcommand.Request) (int, error) {
	input := make(chan []byte)
	go func() {
		defer close(input)
		for {
			line := make([]byte, 100)
			n, err := r.Stdin.Read(line)
			if err != nil {
				return
			}
			select {
			case input <- line[:n]:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case line, more := <-input:
			if !more {
				return 3, nil
			}
			fmt.Fprint(r.Stdout, strings.ToUpper(string(line)))
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// pipeConn is one end of a connection in memory.
type pipeConn struct {
	in, out chan []byte
	closed  chan struct{} // of both ends
	close   func()
}

func newPipe() (client, host *pipeConn) {
	up, down, closed := make(chan []byte, 1000), make(chan []byte, 1000), make(chan struct{})
	end := sync.OnceFunc(func() { close(closed) })
	return &pipeConn{down, up, closed, end}, &pipeConn{up, down, closed, end}
}

func (c *pipeConn) Read(ctx context.Context) ([]byte, error) {
	select {
	case message := <-c.in:
		return message, nil
	default:
	}
	select {
	case message := <-c.in:
		return message, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *pipeConn) Write(message []byte) error {
	select {
	case <-c.closed:
		return io.ErrClosedPipe
	default:
	}
	select {
	case <-c.closed:
		return io.ErrClosedPipe
	case c.out <- message:
		return nil
	}
}

func (c *pipeConn) Close(string) { c.close() }

func newSessions() *Sessions {
	s := &Sessions{}
	s.Setup(echoHost{}, hostID, nil, nil)
	return s
}

func (s *Sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}

func request(dataChannel bool) Request {
	return Request{Task: "t", Container: "c", Command: []string{"sh"}, TTY: true, DataChannel: dataChannel, Principal: "arn:p", KeyID: "AKIA"}
}

// connect opens a connection to a session, as the client.
func (s *Sessions) connect(t *testing.T, of Session) *pipeConn {
	t.Helper()
	found, err := s.claim(of.ID, of.Token)
	if err != nil {
		t.Fatal(err)
	}
	client, host := newPipe()
	go found.serve(t.Context(), host)
	return client
}

// plugin is a client of a data channel: it acknowledges what it gets.
type plugin struct {
	t    *testing.T
	conn *pipeConn
	next int64
}

func (p *plugin) send(kind datachannel.PayloadType, payload string) {
	p.t.Helper()
	m := datachannel.Message{Type: datachannel.Input, Sequence: p.next, PayloadType: kind, Payload: []byte(payload), Created: time.Now()}
	p.next++
	if err := p.conn.Write(m.Append(nil)); err != nil {
		p.t.Fatal(err)
	}
}

// receive is the next message of the host that is no acknowledgement. The client acknowledges it, unless it keeps silent.
func (p *plugin) receive(silent bool) *datachannel.Message {
	p.t.Helper()
	for {
		text, err := p.conn.Read(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		m, err := datachannel.Parse(text)
		if err != nil {
			p.t.Fatal(err)
		}
		if m.Type == datachannel.Acknowledge {
			continue
		}
		if !silent && m.Type == datachannel.Output {
			p.conn.Write(datachannel.NewAcknowledge(m, [16]byte{1}, time.Now()).Append(nil))
		}
		return m
	}
}

// shakeHands begins the session.
func (p *plugin) shakeHands() {
	p.t.Helper()
	if m := p.receive(false); m.PayloadType != datachannel.HandshakeRequest {
		p.t.Fatalf("the host begins with %+v", m)
	}
	p.send(datachannel.HandshakeResponse, `{"ProcessedClientActions":[{"ActionType":"SessionType","ActionStatus":1}]}`)
	if m := p.receive(false); m.PayloadType != datachannel.HandshakeComplete {
		p.t.Fatalf("the host goes on with %+v", m)
	}
}

func open(t *testing.T, s *Sessions, r Request) Session {
	t.Helper()
	opened, err := s.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}
