package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"pinion/packaging/failpoint"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

const (
	handshakeTimeout = 5 * time.Second
	// sendTimeout is how long a message may take until the other end has taken it.
	sendTimeout = 5 * time.Second
	// agentIdleTimeout is how long a server listens to a host that says nothing; it says something every second.
	agentIdleTimeout = 5 * time.Second
	// maxInFlight is how many messages of one session are handled at a time; the next one is answered spec.ErrBusy. An
	// agent sends one at a time.
	maxInFlight = 16
	// largeMessage is the size above which one message of a session is handled at a time: that of a host with thousands of tasks.
	largeMessage = 1 << 20
)

// hostSession is the server's side of one session.
type hostSession struct {
	*Dispatcher
	backend  *Backend
	hostID   string
	location string // of the process at the other end
	in       *messageReader
	control  *http.ResponseController
	slots    chan struct{} // one for each message that is being handled
	large    chan struct{} // likewise, for each that is large

	mu   sync.Mutex // one message at a time
	out  *json.Encoder
	sent poolInfoSent
}

func (s *hostSession) serve(ctx context.Context, end context.CancelFunc) error {
	first, err := s.receive(handshakeTimeout)
	if err != nil {
		return err
	}
	if s.backend = s.host.Backend(); s.backend == nil {
		s.redirect()
		return fmt.Errorf("%w: this host is no server", spec.ErrNotLeader)
	}
	if err := s.register(ctx, first); err != nil {
		s.redirect()
		return err
	}
	s.location = first.Handshake.Host.Location
	var handlers sync.WaitGroup
	defer handlers.Wait()
	defer end()
	s.backend.balancer.add(1)
	defer s.backend.balancer.add(-1)
	handlers.Go(func() { s.streamAssignments(ctx, end, first.Handshake) })
	handlers.Go(func() { s.streamPoolInfo(ctx) })
	if known := first.Handshake.Routing; known != nil {
		handlers.Go(func() { s.streamRouting(ctx, known) })
	}
	for {
		message, err := s.receive(agentIdleTimeout)
		if err != nil {
			return err
		}
		if message.Seq == 0 {
			err = s.heartbeat(message)
		} else {
			err = s.start(ctx, &handlers, message)
		}
		if err != nil {
			return err
		}
	}
}

// start handles a message beside the others, or refuses it when maxInFlight are being handled: the messages behind it are
// heartbeats, which may not wait.
func (s *hostSession) start(ctx context.Context, handlers *sync.WaitGroup, message agentMessage) error {
	slots := s.slots
	if s.in.size > largeMessage {
		slots = s.large
	}
	select {
	case slots <- struct{}{}:
	default:
		return s.send(serverMessage{Reply: &sessionReply{Seq: message.Seq, Error: rpc.ToWire(spec.ErrBusy)}})
	}
	handlers.Go(func() {
		defer func() { <-slots }()
		_ = s.handle(ctx, message)
	})
	return nil
}

// redirect tells a host where servers are, as far as this host knows.
func (s *hostSession) redirect() {
	_ = s.send(serverMessage{PoolInfo: &PoolInfoUpdate{PoolInfo: s.host.PoolInfo()}})
}

// register lets the host in: it must be the host of its certificate, of this incarnation of the pool, and have reported
// what it runs.
func (s *hostSession) register(ctx context.Context, message agentMessage) error {
	h := message.Handshake
	if h == nil || h.Host.ID != s.hostID {
		return fmt.Errorf("host %s began its session without saying who it is", s.hostID)
	}
	if err := s.host.CheckIncarnation(h.Incarnation, h.Proof); err != nil {
		return err
	}
	if err := s.backend.waitForIndex(ctx, h.After); err != nil {
		return err
	}
	return s.handle(ctx, message)
}

// handle does what a message asks for and replies with the outcome. The error is that of the first handshake.
func (s *hostSession) handle(ctx context.Context, message agentMessage) error {
	reply := sessionReply{Seq: message.Seq}
	var err error
	switch h := message.Handshake; {
	case h != nil && h.Host.ID == s.hostID:
		reply.Unknown, err = s.backend.Join(ctx, h.Host, h.Running)
	case h == nil && message.Metrics != nil:
		reply.Measure, err = s.backend.Measure(ctx, s.hostID, *message.Metrics)
	case h == nil && message.VirtualIP != nil:
		reply.VirtualIP, err = s.backend.AskVirtualIP(ctx, s.hostID, *message.VirtualIP)
	case h == nil && message.Partitions != nil:
		reply.Partitions, err = s.backend.GPUPartitions(ctx, s.hostID, message.Partitions.After)
	case h == nil:
		reply.Unknown, err = s.backend.Report(ctx, s.hostID, message.Reports)
	default:
		err = fmt.Errorf("host %s calls itself %s", s.hostID, h.Host.ID)
	}
	reply.Error = rpc.ToWire(err)
	return errors.Join(err, s.send(serverMessage{Reply: &reply}))
}

// heartbeat notes that the host lives and answers with the same, or ends the session: the host chooses another server, or is not
// this process any more.
func (s *hostSession) heartbeat(message agentMessage) error {
	if known := s.backend.server.State().View().Host(s.hostID); known != nil && known.Location != s.location {
		return known.CheckProcess(s.location, 0, true) // it was silent, and another process has joined as this host
	}
	if err := s.backend.Heartbeat(context.Background(), s.hostID, message.Drained); err != nil {
		return err
	}
	if s.backend.balancer.shouldMove(s.backend.server.Now(), s.backend.maxSessions) {
		return errRebalance
	}
	offset := s.backend.liveness.ClockOffset(s.hostID)
	if message.Clock != 0 {
		offset = s.backend.liveness.RecordClock(s.hostID, time.UnixMilli(message.Clock))
	}
	return s.send(serverMessage{PoolInfo: s.nextPoolInfo(), ClockOffset: offset.Milliseconds()})
}

// streamAssignments tells the host what it must run: at first in any case, and then after each change.
func (s *hostSession) streamAssignments(ctx context.Context, end context.CancelFunc, h *handshake) {
	defer end() // a session without assignments is none
	defer s.backend.versions.forget(s.hostID)
	known, after, seen := h.Known, h.After, uint64(0)
	for {
		list, index, err := s.backend.Assignments(ctx, s.hostID, seen, after)
		if err != nil {
			_ = s.send(serverMessage{Error: rpc.ToWire(err)})
			return
		}
		delta := known.diff(list, index)
		failpoint.Reached(failpoint.AssignmentSending)
		if s.send(serverMessage{Assignments: &delta}) != nil {
			return
		}
		failpoint.Reached(failpoint.AssignmentSent)
		if known != nil {
			known = knownFrom(list)
		}
		after, seen = index, index
	}
}

// streamPoolInfo tells the host of its pool after each change.
func (s *hostSession) streamPoolInfo(ctx context.Context) {
	for {
		changed := s.backend.poolInfo.PoolInfoChanged()
		if update := s.nextPoolInfo(); update != nil && s.send(serverMessage{PoolInfo: update}) != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// nextPoolInfo is the update that the host was not sent yet, nil when there is none.
func (s *hostSession) nextPoolInfo() *PoolInfoUpdate {
	info := s.backend.poolInfo.PoolInfo()
	if info == nil {
		return nil
	}
	host := s.backend.server.State().View().Host(s.hostID)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent.next(info, host != nil && host.Server)
}

func (s *hostSession) send(message serverMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(sendTimeout))
	if err := s.out.Encode(message); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *hostSession) receive(timeout time.Duration) (message agentMessage, err error) {
	_ = s.control.SetReadDeadline(time.Now().Add(timeout))
	err = s.in.nextOfHost(&message)
	return message, err
}
