package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

const (
	// sessionTimeout is how long a server may take to let this host in.
	sessionTimeout = 6 * time.Second
	// serverSilence is how long this host listens to a server that says nothing. It answers every heartbeat, so one answer
	// is missing then, and the host is with another server before it counts as disconnected.
	serverSilence = 2 * time.Second
	// linesWaiting is how many lines wait for the network before the session counts as broken.
	linesWaiting = 64
)

// session is the host's side of one session. It does what the agent needs (see way) by asking the server at its other
// end. Once it is broken every method fails with an error that wraps raftfsm.ErrNotFound, which makes the agent join
// again, and so begin another session.
type session struct {
	address string
	news    func(bulletin) // called for each bulletin, one at a time
	lines   chan toServer
	ended   chan struct{}
	cancel  context.CancelFunc
	silence *time.Timer

	mu      sync.Mutex
	seq     uint64
	waiting map[uint64]chan answer
	tasks   []spec.Assignment // what this host must run; before the first step what it was told in the session before
	index   uint64            // of tasks; 0 before the first step
	changed signal
	err     error // why it ended
}

// dialSession begins a session of a host that was told to run held. What is at the other end, and whether it lets this
// host in, shows with the first hello.
func dialSession(client *http.Client, address string, news func(bulletin), held []spec.Assignment) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		address: address, news: news, lines: make(chan toServer, linesWaiting), ended: make(chan struct{}), cancel: cancel,
		waiting: make(map[uint64]chan answer), tasks: held,
	}
	s.silence = time.AfterFunc(sessionTimeout, func() { s.fail(fmt.Errorf("server %s says nothing", address)) })
	body, write := io.Pipe()
	go s.send(ctx, write)
	go s.receive(ctx, client, body)
	return s
}

// send writes the lines as they come.
func (s *session) send(ctx context.Context, to *io.PipeWriter) {
	defer to.Close()
	out := json.NewEncoder(to)
	for {
		select {
		case line := <-s.lines:
			if err := out.Encode(line); err != nil {
				s.fail(err)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// receive takes in what the server says until one of the ends goes.
func (s *session) receive(ctx context.Context, client *http.Client, body *io.PipeReader) {
	defer body.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+s.address+pathSession, body)
	if err != nil {
		s.fail(err)
		return
	}
	reply, err := client.Do(request)
	if err != nil {
		s.fail(err)
		return
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		s.fail(fmt.Errorf("server %s answered with status %d", s.address, reply.StatusCode))
		return
	}
	for in := json.NewDecoder(reply.Body); ; {
		var line toHost
		if err := in.Decode(&line); err != nil {
			s.fail(err)
			return
		}
		s.silence.Reset(serverSilence)
		if err := s.take(line); err != nil {
			s.fail(err)
			return
		}
	}
}

// take does what a line says. The error is why the session is over.
func (s *session) take(line toHost) error {
	if line.News != nil {
		s.news(*line.News)
	}
	if line.Assignments != nil {
		if err := s.step(*line.Assignments); err != nil {
			return err
		}
	}
	if line.Answer != nil {
		s.mu.Lock()
		asker := s.waiting[line.Answer.Seq]
		delete(s.waiting, line.Answer.Seq)
		s.mu.Unlock()
		if asker != nil {
			asker <- *line.Answer
		}
	}
	return line.Fault.err()
}

// step takes what this host must run one step on. One that does not fit makes this host ask for everything next time.
func (s *session) step(a assignments) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks, err = a.from(s.tasks); err == nil {
		s.index = a.Index
	}
	s.changed.fire()
	return err
}

// held is what this host was last told to run.
func (s *session) held() []spec.Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tasks
}

// fail ends the session; the first reason counts.
func (s *session) fail(err error) {
	if errors.Is(err, io.EOF) {
		err = errGone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	s.silence.Stop()
	close(s.ended)
	s.cancel()
}

// broken is the error of a session that has ended: this host is not known to anyone until it joins again. A host that was
// removed is told so.
func (s *session) broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &lostWay{fmt.Sprintf("the session with server %s has ended: %v", s.address, s.err), s.err}
}

// alive reports whether the session goes on.
func (s *session) alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

func (s *session) put(line toServer) error {
	select {
	case s.lines <- line:
		return nil
	case <-s.ended:
		return s.broken()
	default:
		s.fail(fmt.Errorf("server %s does not take what this host has to say", s.address))
		return s.broken()
	}
}

// ask says a line and waits for its answer.
func (s *session) ask(ctx context.Context, line toServer) ([]string, error) {
	got := make(chan answer, 1)
	s.mu.Lock()
	s.seq++
	line.Seq = s.seq
	s.waiting[line.Seq] = got
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, line.Seq)
	}()
	if err := s.put(line); err != nil {
		return nil, err
	}
	select {
	case a := <-got:
		return a.Unknown, a.Fault.err()
	case <-s.ended:
		return nil, s.broken()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// Report is Server.Report.
func (s *session) Report(ctx context.Context, _ string, reports []spec.TaskReport) ([]string, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	return s.ask(ctx, toServer{Reports: reports})
}

// Heartbeat says that this host lives. It does not wait for the answer: without one the session ends by itself.
func (s *session) Heartbeat(context.Context, string) error {
	if !s.alive() {
		return s.broken()
	}
	return s.put(toServer{})
}

// Assignments is Server.Assignments.
func (s *session) Assignments(ctx context.Context, _ string, after uint64) ([]spec.Assignment, uint64, error) {
	for {
		select {
		case <-s.ended: // what it said last may have been overtaken
			return nil, 0, s.broken()
		default:
		}
		changed := s.changed.next()
		s.mu.Lock()
		tasks, index := s.tasks, s.index
		s.mu.Unlock()
		if index != 0 && index != after {
			return tasks, index, nil
		}
		select {
		case <-changed:
		case <-s.ended:
			return nil, 0, s.broken()
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}
