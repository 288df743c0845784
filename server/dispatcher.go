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
	"pinion/server/rpc"
)

const (
	handshakeTimeout = 5 * time.Second
	// sendTimeout is how long a line may take until the other end has taken it.
	sendTimeout = 5 * time.Second
	// agentIdleTimeout is how long a server listens to a host that says nothing; it says something every second.
	agentIdleTimeout = 5 * time.Second
)

// dispatchSession is a server's side of one session. The server is any server: it answers from its own state and passes on to the
// leader what only the leader can do.
type dispatchSession struct {
	member  *Member
	server  *Server
	host    string
	in      *json.Decoder
	control *http.ResponseController

	mu       sync.Mutex // one line at a time
	out      *json.Encoder
	lastSent poolInfoUpdate
}

// serveSession holds one session until one of the ends goes.
func (m *Member) serveSession(w http.ResponseWriter, r *http.Request, from string) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	d := &dispatchSession{member: m, host: from, in: json.NewDecoder(r.Body), out: json.NewEncoder(w), control: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	_ = d.control.Flush()
	if err := d.serve(ctx, cancel); err != nil && ctx.Err() == nil {
		m.log.Debug("a session ended", "host", from, "reason", err)
		_ = d.send(serverMessage{Error: rpc.ToWire(err)})
	}
}

func (d *dispatchSession) serve(ctx context.Context, end context.CancelFunc) error {
	first, err := d.receive(handshakeTimeout)
	if err != nil {
		return err
	}
	if d.server = d.member.localServer(); d.server == nil {
		d.redirect()
		return fmt.Errorf("%w: this host is no server", ErrNotLeader)
	}
	if err := d.register(ctx, first); err != nil {
		d.redirect()
		return err
	}
	var handlers sync.WaitGroup
	defer handlers.Wait()
	defer end()
	d.member.balancer.add()
	defer d.member.balancer.remove()
	handlers.Go(func() { d.streamAssignments(ctx, end, first.Handshake) })
	handlers.Go(func() { d.streamPoolInfo(ctx) })
	for {
		line, err := d.receive(agentIdleTimeout)
		if err != nil {
			return err
		}
		if line.Seq > 0 {
			handlers.Go(func() { _ = d.handle(ctx, line) })
			continue
		}
		if err := d.heartbeat(); err != nil {
			return err
		}
	}
}

// redirect tells a host where servers are, as far as this one knows.
func (d *dispatchSession) redirect() {
	_ = d.send(serverMessage{PoolInfo: &poolInfoUpdate{PoolInfo: d.member.poolCache.poolInfo()}})
}

// register lets the host in: it must be who it says, of this incarnation of the pool, and have reported what it runs.
func (d *dispatchSession) register(ctx context.Context, line agentMessage) error {
	h := line.Handshake
	if h == nil || h.Host.ID != d.host {
		return fmt.Errorf("host %s began its session without saying who it is", d.host)
	}
	if err := d.member.checkIncarnation(h.Incarnation); err != nil {
		return err
	}
	if err := d.server.waitForIndex(ctx, h.After); err != nil {
		return err
	}
	return d.handle(ctx, line)
}

// handle does what a line asks for and says what came of it. The error is that of the first hello.
func (d *dispatchSession) handle(ctx context.Context, line agentMessage) error {
	a := sessionReply{Seq: line.Seq}
	var err error
	switch {
	case line.Handshake != nil && line.Handshake.Host.ID == d.host:
		a.Unknown, err = d.server.Join(ctx, line.Handshake.Host, line.Handshake.Running)
	case line.Handshake == nil:
		a.Unknown, err = d.server.Report(ctx, d.host, line.Reports)
	default:
		err = fmt.Errorf("host %s calls itself %s", d.host, line.Handshake.Host.ID)
	}
	a.Error = rpc.ToWire(err)
	return errors.Join(err, d.send(serverMessage{Reply: &a}))
}

// heartbeat notes that the host lives and says the same, or that it had better go to another server.
func (d *dispatchSession) heartbeat() error {
	if err := d.server.Heartbeat(context.Background(), d.host); err != nil {
		return err
	}
	if d.member.balancer.shouldMove(time.Now(), d.server.maxSessions) {
		return errRebalance
	}
	if b := d.nextPoolInfo(); b != nil {
		return d.send(serverMessage{PoolInfo: b})
	}
	return d.send(serverMessage{})
}

// streamAssignments tells the host what it must run: at first in any case, and then when that has changed.
func (d *dispatchSession) streamAssignments(ctx context.Context, end context.CancelFunc, h *handshake) {
	defer end() // a session without assignments is none
	holds, after, ask := h.Known, h.After, uint64(0)
	for {
		list, index, err := d.server.assignments(ctx, d.host, ask, after)
		if err != nil {
			_ = d.send(serverMessage{Error: rpc.ToWire(err)})
			return
		}
		step := holds.diff(list, index)
		if d.send(serverMessage{Assignments: &step}) != nil {
			return
		}
		if holds != nil {
			holds = knownFrom(list)
		}
		after, ask = index, index
	}
}

func (d *dispatchSession) streamPoolInfo(ctx context.Context) {
	for {
		looked := d.server.poolInfoChanged.Wait()
		if b := d.nextPoolInfo(); b != nil && d.send(serverMessage{PoolInfo: b}) != nil {
			return
		}
		select {
		case <-looked:
		case <-ctx.Done():
			return
		case <-d.server.life.Done():
			return
		}
	}
}

// nextPoolInfo is the news that the host was not told yet, nil when there are none.
func (d *dispatchSession) nextPoolInfo() *poolInfoUpdate {
	seen := d.server.poolInfo.Load()
	if seen == nil {
		return nil
	}
	b := poolInfoUpdate{PoolInfo: *seen}
	if host := d.server.state.View().Host(d.host); host != nil {
		b.Server = host.Server
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if equalPoolInfo(b, d.lastSent) {
		return nil
	}
	d.lastSent = b
	return &b
}

func (d *dispatchSession) send(line serverMessage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.control.SetWriteDeadline(time.Now().Add(sendTimeout))
	if err := d.out.Encode(line); err != nil {
		return err
	}
	return d.control.Flush()
}

func (d *dispatchSession) receive(patience time.Duration) (line agentMessage, err error) {
	_ = d.control.SetReadDeadline(time.Now().Add(patience))
	err = d.in.Decode(&line)
	if errors.Is(err, io.EOF) {
		err = errPeerClosed
	}
	return line, err
}

var errPeerClosed = fmt.Errorf("the other end has gone: %w", spec.ErrUnavailable)
