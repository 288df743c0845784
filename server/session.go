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
	"pinion/server/liveness"
	"pinion/server/rpc"
)

const (
	// sessionOpenTimeout is how long a server may take to let this host in.
	sessionOpenTimeout = 6 * time.Second
	// maxOutbox is how many lines wait for the network before the session counts as broken.
	maxOutbox = 64
)

// session is the host's side of one session. It does what the agent needs (see way) by asking the server at its other
// end. Once it is broken every method fails with an error that wraps raftfsm.ErrNotFound, which makes the agent join
// again, and so begin another session.
type session struct {
	address    string
	onPoolInfo func(poolInfoUpdate) // called for each bulletin, one at a time
	outbox     chan agentMessage
	ended      chan struct{}
	cancel     context.CancelFunc
	idleTimer  *time.Timer

	mu          sync.Mutex
	seq         uint64
	pending     map[uint64]chan sessionReply
	assignments []spec.Assignment // what this host must run; before the first step what it was told in the session before
	index       uint64            // of tasks; 0 before the first step
	changed     rpc.Broadcast
	err         error // why it ended
}

// dialSession begins a session of a host that was told to run held. What is at the other end, and whether it lets this
// host in, shows with the first hello.
func dialSession(client *http.Client, address string, news func(poolInfoUpdate), held []spec.Assignment) *session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		address: address, onPoolInfo: news, outbox: make(chan agentMessage, maxOutbox), ended: make(chan struct{}), cancel: cancel,
		pending: make(map[uint64]chan sessionReply), assignments: held,
	}
	s.idleTimer = time.AfterFunc(sessionOpenTimeout, func() { s.close(fmt.Errorf("server %s says nothing", address)) })
	body, write := io.Pipe()
	go s.writeLoop(ctx, write)
	go s.readLoop(ctx, client, body)
	return s
}

// writeLoop writes the lines as they come.
func (s *session) writeLoop(ctx context.Context, to *io.PipeWriter) {
	defer to.Close()
	out := json.NewEncoder(to)
	for {
		select {
		case line := <-s.outbox:
			if err := out.Encode(line); err != nil {
				s.close(err)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// readLoop takes in what the server says until one of the ends goes.
func (s *session) readLoop(ctx context.Context, client *http.Client, body *io.PipeReader) {
	defer body.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+s.address+pathSession, body)
	if err != nil {
		s.close(err)
		return
	}
	reply, err := client.Do(request)
	if err != nil {
		s.close(err)
		return
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		s.close(fmt.Errorf("server %s answered with status %d", s.address, reply.StatusCode))
		return
	}
	for in := json.NewDecoder(reply.Body); ; {
		var line serverMessage
		if err := in.Decode(&line); err != nil {
			s.close(err)
			return
		}
		s.idleTimer.Reset(liveness.ServerIdleTimeout)
		if err := s.handle(line); err != nil {
			s.close(err)
			return
		}
	}
}

// handle does what a line says. The error is why the session is over.
func (s *session) handle(line serverMessage) error {
	if line.PoolInfo != nil {
		s.onPoolInfo(*line.PoolInfo)
	}
	if line.Assignments != nil {
		if err := s.applyDelta(*line.Assignments); err != nil {
			return err
		}
	}
	if line.Reply != nil {
		s.mu.Lock()
		asker := s.pending[line.Reply.Seq]
		delete(s.pending, line.Reply.Seq)
		s.mu.Unlock()
		if asker != nil {
			asker <- *line.Reply
		}
	}
	return line.Error.Err()
}

// applyDelta takes what this host must run one step on. One that does not fit makes this host ask for everything next time.
func (s *session) applyDelta(a assignmentDelta) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.assignments, err = a.apply(s.assignments); err == nil {
		s.index = a.Index
	}
	s.changed.Notify()
	return err
}

// lastAssignments is what this host was last told to run.
func (s *session) lastAssignments() []spec.Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.assignments
}

// close ends the session; the first reason counts.
func (s *session) close(err error) {
	if errors.Is(err, io.EOF) {
		err = errPeerClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = err
	s.idleTimer.Stop()
	close(s.ended)
	s.cancel()
}

// closedErr is the error of a session that has ended: this host is not known to anyone until it joins again. A host that was
// removed is told so.
func (s *session) closedErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &disconnectedError{fmt.Sprintf("the session with server %s has ended: %v", s.address, s.err), s.err}
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

func (s *session) send(line agentMessage) error {
	select {
	case s.outbox <- line:
		return nil
	case <-s.ended:
		return s.closedErr()
	default:
		s.close(fmt.Errorf("server %s does not take what this host has to say", s.address))
		return s.closedErr()
	}
}

// call says a line and waits for its answer.
func (s *session) call(ctx context.Context, line agentMessage) ([]string, error) {
	got := make(chan sessionReply, 1)
	s.mu.Lock()
	s.seq++
	line.Seq = s.seq
	s.pending[line.Seq] = got
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pending, line.Seq)
	}()
	if err := s.send(line); err != nil {
		return nil, err
	}
	select {
	case a := <-got:
		return a.Unknown, a.Error.Err()
	case <-s.ended:
		return nil, s.closedErr()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// Report is Server.Report.
func (s *session) Report(ctx context.Context, _ string, reports []spec.TaskReport) ([]string, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	return s.call(ctx, agentMessage{Reports: reports})
}

// Heartbeat says that this host lives. It does not wait for the answer: without one the session ends by itself.
func (s *session) Heartbeat(context.Context, string) error {
	if !s.alive() {
		return s.closedErr()
	}
	return s.send(agentMessage{})
}

// Assignments is Server.Assignments.
func (s *session) Assignments(ctx context.Context, _ string, after uint64) ([]spec.Assignment, uint64, error) {
	for {
		select {
		case <-s.ended: // what it said last may have been overtaken
			return nil, 0, s.closedErr()
		default:
		}
		changed := s.changed.Wait()
		s.mu.Lock()
		tasks, index := s.assignments, s.index
		s.mu.Unlock()
		if index != 0 && index != after {
			return tasks, index, nil
		}
		select {
		case <-changed:
		case <-s.ended:
			return nil, 0, s.closedErr()
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}
