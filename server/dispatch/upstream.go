package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// Host is what an Upstream needs of the host whose agent it serves.
type Host interface {
	// Backend is that of the server here, nil while this host is an agent.
	Backend() *Backend
	// PoolInfo is what this host knows of its pool: where to look for servers.
	PoolInfo() spec.PoolInfo
	// OnPoolInfo takes in what a session tells of the pool, one update at a time.
	OnPoolInfo(PoolInfoUpdate)
	// OnClock takes in that this host's clock begins or ceases to be off: how much it is ahead of the server's at address.
	OnClock(address string, offset time.Duration)
	// Now is this host's clock.
	Now() time.Time
	// FindServers asks other hosts for the servers of the pool when those that this host knows do not answer, and reports whether it
	// learned something.
	FindServers(ctx context.Context) bool
	// CheckRemoved fails with spec.ErrRemoved when the pool has removed this host, which no server says that refuses its
	// connections.
	CheckRemoved(ctx context.Context) error
	// Fail ends the process: this host is not of the pool any more.
	Fail(err error)
}

// Upstream is the agent's connection to the control plane: the local server, or a session with a remote one. The agent
// joins again when it breaks, so it reports first whatever has happened. It is safe for concurrent use.
type Upstream struct {
	host    Host
	address string // of this host
	client  *http.Client
	log     *slog.Logger

	current  atomic.Pointer[connection]   // nil while the agent has not joined
	last     atomic.Pointer[AgentSession] // the latest session, also when it has ended: it knows what this host was told
	minIndex atomic.Uint64                // newest index of assignments that the agent has seen
	refused  atomic.Int64                 // how often in a row another process was found to be this host
}

// maxRefused is how often this host asks again while another process is this host. After a reboot the process before counts as
// alive for some seconds, and the agent pauses for two between two tries.
const maxRefused = 8

// NewUpstream returns the upstream of the agent on the host at this address.
func NewUpstream(host Host, address string, client *http.Client, log *slog.Logger) *Upstream {
	return &Upstream{host: host, address: address, client: client, log: log}
}

// assignmentSource is where a connection leads.
type assignmentSource interface {
	Assignments(ctx context.Context, hostID string, after, minIndex uint64) ([]spec.Assignment, uint64, error)
	Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error)
	Heartbeat(ctx context.Context, hostID string, drained []string) error
	Measure(ctx context.Context, hostID string, r metric.Report) (metric.Selection, error)
	Routing(ctx context.Context, hostID string, seen *traffic.Routing) (*traffic.Routing, error)
	leaseSource
	partitionSource
}

var (
	_ assignmentSource = (*Backend)(nil)
	_ assignmentSource = (*AgentSession)(nil)
)

// connection is an endpoint in use; replaced is closed when another takes its place.
type connection struct {
	assignmentSource
	replaced chan struct{}
}

// Join makes this host known to the pool, through its own server or any other that answers.
func (u *Upstream) Join(ctx context.Context, host spec.Host, running []spec.TaskReport) ([]string, error) {
	host.FeatureLevel = raftfsm.FeatureLevel
	r := Registration{host, running}
	var failed []error
	if local := u.host.Backend(); local != nil && !local.LeaderUnreachable() {
		unknown, err := local.Join(ctx, host, running)
		if err == nil {
			u.set(local)
			return unknown, nil
		}
		if !errors.Is(err, spec.ErrUnavailable) {
			return nil, u.failIfRemoved(host.ID, err)
		}
		failed = append(failed, err)
	}
	if s := u.Session(); s != nil {
		reply, err := s.call(ctx, u.handshake(r, nil, nil))
		return reply.Unknown, err
	}
	for range 2 {
		for _, address := range u.servers() {
			unknown, err := u.openSession(ctx, address, r)
			if err == nil || !errors.Is(err, spec.ErrUnavailable) && !errors.Is(err, spec.ErrNotFound) {
				return unknown, u.failIfRemoved(host.ID, err)
			}
			failed = append(failed, err)
		}
		if !u.host.FindServers(ctx) {
			break
		}
	}
	if err := u.failIfRemoved(host.ID, u.host.CheckRemoved(ctx)); err != nil {
		return nil, err
	}
	if len(failed) == 0 {
		return nil, errNoServer
	}
	return nil, fmt.Errorf("no server of the pool lets this host in: %w", errors.Join(failed...))
}

func (u *Upstream) handshake(r Registration, known knownAssignments, routing knownRouting) agentMessage {
	h := &handshake{Registration: r, After: u.minIndex.Load(), Known: known, Routing: routing}
	h.claim(u.host.PoolInfo())
	return agentMessage{Handshake: h}
}

// openSession opens a session with a server.
func (u *Upstream) openSession(ctx context.Context, address string, r Registration) ([]string, error) {
	var known []spec.Assignment
	routing := new(traffic.Routing)
	if last := u.last.Load(); last != nil {
		known, routing = last.lastAssignments(), last.lastRouting()
	}
	s := dial(u.client, address, u.host, known, routing)
	ctx, cancel := context.WithTimeout(ctx, sessionOpenTimeout)
	defer cancel()
	reply, err := s.call(ctx, u.handshake(r, knownFrom(known), digestsOf(routing)))
	if err != nil {
		s.close(err)
		return nil, err
	}
	u.last.Store(s)
	u.set(s)
	return reply.Unknown, nil
}

// Session is the session in use; nil when there is none that is alive.
func (u *Upstream) Session() *AgentSession {
	if c := u.current.Load(); c != nil {
		if s, ok := c.assignmentSource.(*AgentSession); ok && s.alive() {
			return s
		}
	}
	return nil
}

// Connected reports whether the agent has joined.
func (u *Upstream) Connected() bool { return u.current.Load() != nil }

// IsLocal reports whether the agent is connected to this backend.
func (u *Upstream) IsLocal(b *Backend) bool {
	c := u.current.Load()
	return c != nil && c.assignmentSource == assignmentSource(b)
}

// ResetIndex forgets what the agent has seen: the pool was recovered, and its index is lower now.
func (u *Upstream) ResetIndex() { u.minIndex.Store(0) }

// LogRetention is how long this host keeps the logs of a log group; 0 is the usual time. It is known without a connection.
func (u *Upstream) LogRetention(group string) time.Duration {
	return time.Duration(u.host.PoolInfo().LogRetention[group]) * 24 * time.Hour
}

// DeletedLogs are the log groups of which this host removes what was written before a moment, in milliseconds since 1970.
func (u *Upstream) DeletedLogs() map[string]int64 { return u.host.PoolInfo().DeletedLogs }

// Close closes the connection.
func (u *Upstream) Close() { u.retire(u.current.Swap(nil)) }

// set makes the endpoint the one in use; calls that wait at the one before go on with it.
func (u *Upstream) set(e assignmentSource) {
	if c := u.current.Load(); c != nil && c.assignmentSource == e {
		return
	}
	u.refused.Store(0)
	u.retire(u.current.Swap(&connection{e, make(chan struct{})}))
	if s, ok := e.(*AgentSession); ok {
		u.log.Info("connected to the pool", "server", s.Address)
	}
}

// Drop gives the local server up, if it is still the endpoint in use.
func (u *Upstream) Drop(b *Backend) { u.drop(b) }

func (u *Upstream) drop(e assignmentSource) {
	if c := u.current.Load(); c != nil && c.assignmentSource == e && u.current.CompareAndSwap(c, nil) {
		u.retire(c)
	}
}

func (u *Upstream) retire(c *connection) {
	if c == nil {
		return
	}
	close(c.replaced)
	if s, ok := c.assignmentSource.(*AgentSession); ok {
		s.close(errors.New("this host is connected otherwise now"))
	}
}

// failIfRemoved ends the process when the error says that this host was removed, or says time and again that another
// process is this host, and returns the error. A server that was removed itself says so of itself, which is not about this host.
func (u *Upstream) failIfRemoved(hostID string, err error) error {
	if spec.IsRemoved(err, hostID) || errors.Is(err, spec.ErrHostElsewhere) && u.refused.Add(1) >= maxRefused {
		u.host.Fail(err)
	}
	return err
}

// Assignments is Backend.Assignments at the endpoint in use, whichever that is: no answer is older than one before.
func (u *Upstream) Assignments(ctx context.Context, hostID string, after uint64) ([]spec.Assignment, uint64, error) {
	for {
		c := u.current.Load()
		if c == nil {
			return nil, 0, errDisconnected
		}
		list, index, replaced, err := u.assignmentsAt(ctx, c, hostID, after)
		if replaced && ctx.Err() == nil {
			continue
		}
		if err == nil {
			u.advanceMinIndex(index)
		} else if errors.Is(err, spec.ErrClosed) {
			u.drop(c.assignmentSource)
			err = errDisconnected
		}
		return list, index, u.failIfRemoved(hostID, err)
	}
}

// assignmentsAt is Assignments at one endpoint; replaced when another has taken its place meanwhile.
func (u *Upstream) assignmentsAt(ctx context.Context, c *connection, hostID string, after uint64) (list []spec.Assignment, index uint64, replaced bool, err error) {
	ctx, cancel := c.untilReplaced(ctx)
	defer cancel()
	list, index, err = c.Assignments(ctx, hostID, after, max(after, u.minIndex.Load()))
	select {
	case <-c.replaced:
		return nil, 0, true, err
	default:
		return list, index, false, err
	}
}

// advanceMinIndex notes the newest index that the agent has seen.
func (u *Upstream) advanceMinIndex(index uint64) {
	for {
		seen := u.minIndex.Load()
		if index <= seen || u.minIndex.CompareAndSwap(seen, index) {
			return
		}
	}
}

// Report is Backend.Report at the endpoint in use.
func (u *Upstream) Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	c := u.current.Load()
	if c == nil {
		return nil, errDisconnected
	}
	unknown, err := c.Report(ctx, hostID, reports)
	return unknown, u.failIfRemoved(hostID, err)
}

// Heartbeat is Backend.Heartbeat at the endpoint in use, which is given up when it reaches no leader for too long.
func (u *Upstream) Heartbeat(ctx context.Context, hostID string, drained []string) error {
	c := u.current.Load()
	if c == nil {
		return errDisconnected
	}
	err := c.Heartbeat(ctx, hostID, drained)
	if errors.Is(err, spec.ErrUnavailable) || errors.Is(err, spec.ErrClosed) {
		u.drop(c.assignmentSource)
		return &disconnectedError{err.Error(), err}
	}
	return u.failIfRemoved(hostID, err)
}
