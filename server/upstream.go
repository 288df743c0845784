package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// upstream is how the agent of this host is heard by the pool: through its own server, or through a session with another. It
// is chosen when the agent joins, and lost when it leads nowhere any more; then the agent joins again, which means that
// it reports first whatever has happened.
type upstream interface {
	Assignments(ctx context.Context, hostID string, after uint64) ([]spec.Assignment, uint64, error)
	Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error)
	Heartbeat(ctx context.Context, hostID string) error
}

var (
	_ upstream = (*Server)(nil)
	_ upstream = (*session)(nil)
)

// connection is a way in use; gone is closed when another takes its place.
type connection struct {
	upstream
	gone chan struct{}
}

// disconnectedError says that this host is not in touch with the pool: it wraps raftfsm.ErrNotFound, so that the agent joins again.
type disconnectedError struct {
	text  string
	cause error
}

func (l *disconnectedError) Error() string { return l.text }

// Unwrap makes errors.Is see both that the host is not known to anyone, and why.
func (l *disconnectedError) Unwrap() []error { return []error{spec.ErrNotFound, l.cause} }

// Join makes this host known to the pool, through its own server or any other that answers.
func (m *Member) Join(ctx context.Context, host spec.Host, running []spec.TaskReport) ([]string, error) {
	host.FeatureLevel = raftfsm.FeatureLevel
	say := registration{host, running}
	var failed []error
	if own := m.localServer(); own != nil && !own.liveness.CutOff() {
		unknown, err := own.Join(ctx, host, running)
		if err == nil {
			m.setUpstream(own)
			return unknown, nil
		}
		if !errors.Is(err, spec.ErrUnavailable) {
			return nil, m.failIfRemoved(err)
		}
		failed = append(failed, err)
	}
	if s, ok := m.currentUpstream().(*session); ok && s.alive() {
		return s.call(ctx, m.handshake(say, nil))
	}
	for _, address := range m.joinAddresses() {
		unknown, err := m.openSession(ctx, address, say)
		if err == nil || !errors.Is(err, spec.ErrUnavailable) && !errors.Is(err, spec.ErrNotFound) {
			return unknown, m.failIfRemoved(err)
		}
		failed = append(failed, err)
	}
	if err := m.failIfRemoved(m.fetchRemovalStatus(ctx)); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("no server of the pool lets this host in: %w", errors.Join(failed...))
}

// joinAddresses are the addresses to look for the pool at. Of the servers the one that this host was with comes last: it may be
// gone, and whether it is takes longer to find out than the others take to answer.
func (m *Member) joinAddresses() []string {
	known := m.poolCache.poolInfo()
	servers := shuffledWithout(known.Servers, m.cfg.Address)
	if last := m.lastSession.Load(); last != nil && slices.Contains(servers, last.address) {
		servers = append(shuffledWithout(servers, last.address), last.address)
	}
	return append(servers, shuffledWithout(known.Hosts, m.cfg.Address)...)
}

func (m *Member) handshake(e registration, holds knownAssignments) agentMessage {
	return agentMessage{Handshake: &handshake{registration: e, After: m.minIndex.Load(), Known: holds, Incarnation: m.poolCache.incarnation()}}
}

// openSession begins a session with a server.
func (m *Member) openSession(ctx context.Context, address string, e registration) ([]string, error) {
	var held []spec.Assignment
	if last := m.lastSession.Load(); last != nil {
		held = last.lastAssignments()
	}
	s := dialSession(m.client, address, m.onPoolInfo, held)
	ctx, cancel := context.WithTimeout(ctx, sessionOpenTimeout)
	defer cancel()
	unknown, err := s.call(ctx, m.handshake(e, knownFrom(held)))
	if err != nil {
		s.close(err)
		return nil, err
	}
	m.lastSession.Store(s)
	m.setUpstream(s)
	return unknown, nil
}

// currentUpstream is the way in use, nil when there is none.
func (m *Member) currentUpstream() upstream {
	if p := m.upstream.Load(); p != nil {
		return p.upstream
	}
	return nil
}

// setUpstream makes w the way; whoever waits at the one before goes on with it.
func (m *Member) setUpstream(w upstream) {
	if m.currentUpstream() == w {
		return
	}
	m.closeUpstream(m.upstream.Swap(&connection{w, make(chan struct{})}))
	if s, ok := w.(*session); ok {
		m.log.Info("this host is in touch with the pool", "server", s.address)
	}
}

// dropUpstream gives a way up, if it is still the one in use.
func (m *Member) dropUpstream(w upstream) {
	if p := m.upstream.Load(); p != nil && p.upstream == w && m.upstream.CompareAndSwap(p, nil) {
		m.closeUpstream(p)
	}
}

func (m *Member) closeUpstream(p *connection) {
	if p == nil {
		return
	}
	close(p.gone)
	if s, ok := p.upstream.(*session); ok {
		s.close(errors.New("this host has found another way"))
	}
}

var errDisconnected = &disconnectedError{"this host is not in touch with the pool", ErrNotLeader}

// failIfRemoved gives a way up after an error that says that it leads nowhere, and makes the agent join again then.
func (m *Member) failIfRemoved(err error) error {
	if errors.Is(err, spec.ErrRemoved) {
		m.fail(err)
	}
	return err
}

// Assignments is Server.Assignments along the way in use, whichever that is: what it answers is never older than what it
// has answered before.
func (m *Member) Assignments(ctx context.Context, hostID string, after uint64) ([]spec.Assignment, uint64, error) {
	for {
		p := m.upstream.Load()
		if p == nil {
			return nil, 0, errDisconnected
		}
		list, index, moved, err := m.assignmentsAt(ctx, p, hostID, after)
		if moved && ctx.Err() == nil {
			continue
		}
		if err == nil {
			m.advanceMinIndex(index)
		} else if errors.Is(err, errClosed) {
			m.dropUpstream(p.upstream)
			err = errDisconnected
		}
		return list, index, m.failIfRemoved(err)
	}
}

// assignmentsAt is Assignments along one way; moved means that another has taken its place meanwhile.
func (m *Member) assignmentsAt(ctx context.Context, p *connection, hostID string, after uint64) (list []spec.Assignment, index uint64, moved bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	if own, ok := p.upstream.(*Server); ok {
		list, index, err = own.assignments(ctx, hostID, after, max(after, m.minIndex.Load()))
	} else {
		list, index, err = p.upstream.Assignments(ctx, hostID, after)
	}
	select {
	case <-p.gone:
		return nil, 0, true, err
	default:
		return list, index, false, err
	}
}

// advanceMinIndex notes the newest index that the agent has seen.
func (m *Member) advanceMinIndex(index uint64) {
	for {
		seen := m.minIndex.Load()
		if index <= seen || m.minIndex.CompareAndSwap(seen, index) {
			return
		}
	}
}

// Report is Server.Report along the way in use.
func (m *Member) Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	w := m.currentUpstream()
	if w == nil {
		return nil, errDisconnected
	}
	unknown, err := w.Report(ctx, hostID, reports)
	return unknown, m.failIfRemoved(err)
}

// Heartbeat is Server.Heartbeat along the way in use. A way that has led nowhere for too long is given up.
func (m *Member) Heartbeat(ctx context.Context, hostID string) error {
	w := m.currentUpstream()
	if w == nil {
		return errDisconnected
	}
	err := w.Heartbeat(ctx, hostID)
	if errors.Is(err, spec.ErrUnavailable) || errors.Is(err, errClosed) {
		m.dropUpstream(w)
		return &disconnectedError{err.Error(), err}
	}
	return m.failIfRemoved(err)
}
