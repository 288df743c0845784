package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"pinion/raftfsm/metric"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
	"pinion/raftfsm/watch"
	"pinion/server/liveness"
)

const (
	// sessionOpenTimeout is how long a server may take to let this host in.
	sessionOpenTimeout = 6 * time.Second
	// maxOutbox is how many messages wait for the network before the session counts as broken.
	maxOutbox = 64
)

// AgentSession is the host's side of one session: it asks the server at its other end. Once it is broken every method fails
// with an error that wraps spec.ErrNotFound, which makes the agent join again, and so open another session.
type AgentSession struct {
	Address    string               // of the server
	onPoolInfo func(PoolInfoUpdate) // called for each update, one at a time
	onClock    func(time.Duration)  // called when this host's clock begins or ceases to be off, with the offset
	now        func() time.Time     // this host's clock
	offset     time.Duration        // of this host's clock, as the server said last
	removed    []string             // PoolInfo.Removed of the latest update
	outbox     chan agentMessage
	ended      chan struct{}
	cancel     context.CancelFunc
	idleTimer  *time.Timer
	heartbeats atomic.Uint32 // that were sent

	mu          sync.Mutex
	seq         uint64
	pending     map[uint64]chan sessionReply
	assignments []spec.Assignment // of this host; before the first delta those of the session before
	index       uint64            // of the assignments; 0 before the first delta
	routing     *traffic.Routing  // before the first delta that of the session before
	routed      bool              // the first delta of the Routing has come
	changed     watch.Signal
	err         error // why it ended
}

// dial begins a session of a host that knows these assignments. What is at the other end, and whether it lets this host
// in, shows with the first handshake.
func dial(client *http.Client, address string, host Host, known []spec.Assignment, routing *traffic.Routing) *AgentSession {
	ctx, cancel := context.WithCancel(context.Background())
	s := &AgentSession{
		Address: address, onPoolInfo: host.OnPoolInfo, onClock: func(offset time.Duration) { host.OnClock(address, offset) }, now: host.Now, outbox: make(chan agentMessage, maxOutbox), ended: make(chan struct{}), cancel: cancel,
		pending: make(map[uint64]chan sessionReply), assignments: known, routing: routing,
	}
	s.idleTimer = time.AfterFunc(sessionOpenTimeout, func() { s.close(fmt.Errorf("server %s says nothing", address)) })
	body, write := io.Pipe()
	go s.writeLoop(ctx, write)
	go s.readLoop(ctx, client, body)
	return s
}

// writeLoop writes the messages of the outbox.
func (s *AgentSession) writeLoop(ctx context.Context, to *io.PipeWriter) {
	defer to.Close()
	out := json.NewEncoder(to)
	for {
		select {
		case message := <-s.outbox:
			if err := out.Encode(message); err != nil {
				s.close(err)
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// readLoop handles the messages of the server until one of the ends closes the session.
func (s *AgentSession) readLoop(ctx context.Context, client *http.Client, body *io.PipeReader) {
	defer body.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+s.Address+PathSession, body)
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
		s.close(fmt.Errorf("server %s answered with status %d", s.Address, reply.StatusCode))
		return
	}
	for in := newMessageReader(reply.Body); ; {
		var message serverMessage
		if err := in.next(&message); err != nil {
			s.close(err)
			return
		}
		s.idleTimer.Reset(liveness.ServerIdleTimeout)
		if err := s.handle(message); err != nil {
			s.close(err)
			return
		}
	}
}

// handle takes in a message. The error is why the session is over.
func (s *AgentSession) handle(message serverMessage) error {
	if update := message.PoolInfo; update != nil {
		if update.SameRemoved {
			update.PoolInfo.Removed = s.removed
		}
		s.removed = update.PoolInfo.Removed
		s.onPoolInfo(*update)
	}
	if offset := time.Duration(message.ClockOffset) * time.Millisecond; message.isHeartbeat() && (offset == 0) != (s.offset == 0) {
		s.offset = offset
		s.onClock(offset)
	}
	if message.Assignments != nil {
		if err := s.applyDelta(*message.Assignments); err != nil {
			return err
		}
	}
	if message.Routing != nil {
		s.applyRouting(*message.Routing)
	}
	if message.Reply != nil {
		s.mu.Lock()
		asker := s.pending[message.Reply.Seq]
		delete(s.pending, message.Reply.Seq)
		s.mu.Unlock()
		if asker != nil {
			asker <- *message.Reply
		}
	}
	return message.Error.Err()
}

// applyDelta applies a delta to the assignments. One that does not fit ends the session.
func (s *AgentSession) applyDelta(a assignmentDelta) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.assignments, err = a.apply(s.assignments); err == nil {
		s.index = a.Index
	}
	s.changed.Notify()
	return err
}

// lastAssignments are the assignments as of the last delta.
func (s *AgentSession) lastAssignments() []spec.Assignment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.assignments
}

// close ends the session; the first reason counts.
func (s *AgentSession) close(err error) {
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

// closedErr is the error of a session that has ended: this host has to join again. It wraps the reason, so a host that was
// removed learns it.
func (s *AgentSession) closedErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &disconnectedError{fmt.Sprintf("the session with server %s has ended: %v", s.Address, s.err), s.err}
}

// alive reports whether the session goes on.
func (s *AgentSession) alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// send puts a message into the outbox; a server that leaves it full is given up.
func (s *AgentSession) send(message agentMessage) error {
	select {
	case s.outbox <- message:
		return nil
	case <-s.ended:
		return s.closedErr()
	default:
		s.close(fmt.Errorf("server %s does not take what this host has to say", s.Address))
		return s.closedErr()
	}
}

// call sends a message and waits for the reply.
func (s *AgentSession) call(ctx context.Context, message agentMessage) (sessionReply, error) {
	got := make(chan sessionReply, 1)
	s.mu.Lock()
	s.seq++
	message.Seq = s.seq
	s.pending[message.Seq] = got
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pending, message.Seq)
	}()
	if err := s.send(message); err != nil {
		return sessionReply{}, err
	}
	select {
	case a := <-got:
		return a, a.Error.Err()
	case <-s.ended:
		return sessionReply{}, s.closedErr()
	case <-ctx.Done():
		return sessionReply{}, fmt.Errorf("%w (%w)", spec.ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// Report is Backend.Report.
func (s *AgentSession) Report(ctx context.Context, _ string, reports []spec.TaskReport) ([]string, error) {
	if len(reports) == 0 {
		return nil, nil
	}
	reply, err := s.call(ctx, agentMessage{Reports: reports})
	return reply.Unknown, err
}

// Measure is Backend.Measure.
func (s *AgentSession) Measure(ctx context.Context, _ string, r metric.Report) (metric.Selection, error) {
	reply, err := s.call(ctx, agentMessage{Metrics: &r})
	return reply.Measure, err
}

// clockEvery is the number of heartbeats of which one says what the host's clock says: it is most of a heartbeat's bytes.
const clockEvery = 10

// Heartbeat sends a heartbeat. It does not wait for the answer: without one the session ends by itself.
func (s *AgentSession) Heartbeat(_ context.Context, _ string, drained []string) error {
	if !s.alive() {
		return s.closedErr()
	}
	message := agentMessage{Drained: drained}
	if s.heartbeats.Add(1)%clockEvery == 1 {
		message.Clock = s.now().UnixMilli()
	}
	return s.send(message)
}

// Assignments is Backend.Assignments; the handshake has told the server what this host has seen.
func (s *AgentSession) Assignments(ctx context.Context, _ string, after, _ uint64) ([]spec.Assignment, uint64, error) {
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
