package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// way is how the agent of this host is heard by the pool: through its own server, or through a session with another. It
// is chosen when the agent joins, and lost when it leads nowhere any more; then the agent joins again, which means that
// it reports first whatever has happened.
type way interface {
	Assignments(ctx context.Context, hostID string, after uint64) ([]spec.Assignment, uint64, error)
	Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error)
	Heartbeat(ctx context.Context, hostID string) error
}

var (
	_ way = (*Server)(nil)
	_ way = (*session)(nil)
)

// path is a way in use; gone is closed when another takes its place.
type path struct {
	way
	gone chan struct{}
}

// lostWay says that this host is not in touch with the pool: it wraps raftfsm.ErrNotFound, so that the agent joins again.
type lostWay struct {
	text string
	why  error
}

func (l *lostWay) Error() string { return l.text }

// Unwrap makes errors.Is see both that the host is not known to anyone, and why.
func (l *lostWay) Unwrap() []error { return []error{spec.ErrNotFound, l.why} }

// Join makes this host known to the pool, through its own server or any other that answers.
func (m *Member) Join(ctx context.Context, host spec.Host, running []spec.TaskReport) ([]string, error) {
	host.FeatureLevel = raftfsm.FeatureLevel
	say := entering{host, running}
	var failed []error
	if own := m.own(); own != nil && !own.relay.stuck() {
		unknown, err := own.Join(ctx, host, running)
		if err == nil {
			m.take(own)
			return unknown, nil
		}
		if !errors.Is(err, spec.ErrUnavailable) {
			return nil, m.judge(err)
		}
		failed = append(failed, err)
	}
	if s, ok := m.current().(*session); ok && s.alive() {
		return s.ask(ctx, m.hello(say, nil))
	}
	for _, address := range m.doors() {
		unknown, err := m.joinAt(ctx, address, say)
		if err == nil || !errors.Is(err, spec.ErrUnavailable) && !errors.Is(err, spec.ErrNotFound) {
			return unknown, m.judge(err)
		}
		failed = append(failed, err)
	}
	if err := m.judge(m.askStanding(ctx)); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("no server of the pool lets this host in: %w", errors.Join(failed...))
}

// doors are the addresses to look for the pool at. Of the servers the one that this host was with comes last: it may be
// gone, and whether it is takes longer to find out than the others take to answer.
func (m *Member) doors() []string {
	known := m.book.outlook()
	servers := shuffled(known.Servers, m.cfg.Address)
	if last := m.last.Load(); last != nil && slices.Contains(servers, last.address) {
		servers = append(shuffled(servers, last.address), last.address)
	}
	return append(servers, shuffled(known.Hosts, m.cfg.Address)...)
}

func (m *Member) hello(e entering, holds holding) toServer {
	return toServer{Hello: &hello{entering: e, After: m.floor.Load(), Holds: holds, Incarnation: m.book.incarnation()}}
}

// joinAt begins a session with a server.
func (m *Member) joinAt(ctx context.Context, address string, e entering) ([]string, error) {
	var held []spec.Assignment
	if last := m.last.Load(); last != nil {
		held = last.held()
	}
	s := dialSession(m.client, address, m.hear, held)
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
	defer cancel()
	unknown, err := s.ask(ctx, m.hello(e, holdingOf(held)))
	if err != nil {
		s.fail(err)
		return nil, err
	}
	m.last.Store(s)
	m.take(s)
	return unknown, nil
}

// current is the way in use, nil when there is none.
func (m *Member) current() way {
	if p := m.path.Load(); p != nil {
		return p.way
	}
	return nil
}

// take makes w the way; whoever waits at the one before goes on with it.
func (m *Member) take(w way) {
	if m.current() == w {
		return
	}
	m.leave(m.path.Swap(&path{w, make(chan struct{})}))
	if s, ok := w.(*session); ok {
		m.log.Info("this host is in touch with the pool", "server", s.address)
	}
}

// lose gives a way up, if it is still the one in use.
func (m *Member) lose(w way) {
	if p := m.path.Load(); p != nil && p.way == w && m.path.CompareAndSwap(p, nil) {
		m.leave(p)
	}
}

func (m *Member) leave(p *path) {
	if p == nil {
		return
	}
	close(p.gone)
	if s, ok := p.way.(*session); ok {
		s.fail(errors.New("this host has found another way"))
	}
}

var errNoWay = &lostWay{"this host is not in touch with the pool", ErrNotLeader}

// judge gives a way up after an error that says that it leads nowhere, and makes the agent join again then.
func (m *Member) judge(err error) error {
	if errors.Is(err, spec.ErrRemoved) {
		m.fail(err)
	}
	return err
}

// Assignments is Server.Assignments along the way in use, whichever that is: what it answers is never older than what it
// has answered before.
func (m *Member) Assignments(ctx context.Context, hostID string, after uint64) ([]spec.Assignment, uint64, error) {
	for {
		p := m.path.Load()
		if p == nil {
			return nil, 0, errNoWay
		}
		list, index, moved, err := m.assignmentsAt(ctx, p, hostID, after)
		if moved && ctx.Err() == nil {
			continue
		}
		if err == nil {
			m.raise(index)
		} else if errors.Is(err, errClosed) {
			m.lose(p.way)
			err = errNoWay
		}
		return list, index, m.judge(err)
	}
}

// assignmentsAt is Assignments along one way; moved means that another has taken its place meanwhile.
func (m *Member) assignmentsAt(ctx context.Context, p *path, hostID string, after uint64) (list []spec.Assignment, index uint64, moved bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	if own, ok := p.way.(*Server); ok {
		list, index, err = own.assignments(ctx, hostID, after, max(after, m.floor.Load()))
	} else {
		list, index, err = p.way.Assignments(ctx, hostID, after)
	}
	select {
	case <-p.gone:
		return nil, 0, true, err
	default:
		return list, index, false, err
	}
}

// raise notes the newest index that the agent has seen.
func (m *Member) raise(index uint64) {
	for {
		seen := m.floor.Load()
		if index <= seen || m.floor.CompareAndSwap(seen, index) {
			return
		}
	}
}

// Report is Server.Report along the way in use.
func (m *Member) Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	w := m.current()
	if w == nil {
		return nil, errNoWay
	}
	unknown, err := w.Report(ctx, hostID, reports)
	return unknown, m.judge(err)
}

// Heartbeat is Server.Heartbeat along the way in use. A way that has led nowhere for too long is given up.
func (m *Member) Heartbeat(ctx context.Context, hostID string) error {
	w := m.current()
	if w == nil {
		return errNoWay
	}
	err := w.Heartbeat(ctx, hostID)
	if errors.Is(err, spec.ErrUnavailable) || errors.Is(err, errClosed) {
		m.lose(w)
		return &lostWay{err.Error(), err}
	}
	return m.judge(err)
}
