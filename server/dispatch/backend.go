package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/spec"
	"pinion/server/peer"
	"pinion/server/rpc"
)

// Server is the part of the local server that a Backend uses.
type Server interface {
	State() *raftfsm.State
	Now() time.Time
	// Propose records a command; this server leads.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	// CallLeader does something on the leader: local when this server leads, remote when another one does. Both are
	// harmless to repeat.
	CallLeader(ctx context.Context, local func() error, remote func(ctx context.Context, address string) error) error
	// BeginCall admits a call until done; the context that it returns ends with the server, which is then its cause.
	BeginCall(ctx context.Context) (_ context.Context, done func(), err error)
}

// Liveness takes heartbeats.
type Liveness interface {
	Heartbeat(ctx context.Context, hostID string) error
	Record(hostID string)
	// Heard reports whether the leader has heard of the host lately.
	Heard(hostID string) bool
	LeaderUnreachable() bool
	// RecordDrained takes the draining targets to which a host has no request in flight.
	RecordDrained(hostID string, targets []string)
	Clocks
}

// Clocks knows by how much the clocks of hosts are ahead of the one here; zero for those that are not off.
type Clocks interface {
	// RecordClock takes what a host's clock said just now, and returns its offset.
	RecordClock(hostID string, clock time.Time) time.Duration
	ClockOffset(hostID string) time.Duration
}

// PoolInfo publishes to hosts where the servers of their pool are.
type PoolInfo interface {
	// PoolInfo is nil in the first moment. Another value is another pointer.
	PoolInfo() *spec.PoolInfo
	PoolInfoChanged() <-chan struct{}
}

// Backend answers what agents ask of a server. Every server answers: reads from its own state, and it has the leader do
// what only the leader can do. It is safe for concurrent use.
type Backend struct {
	server   Server
	liveness Liveness
	poolInfo PoolInfo
	client   *rpc.Client
	refusals peer.Refusals
	metrics  Metrics
	leases   Leases
	routings routings

	reports  rpc.Batcher[reportRequest, reportReply]
	rate     registrationRate
	versions assignmentVersions
	balancer sessionBalancer
}

// NewBackend returns the backend of a server; client is nil in a pool of one server. refusals is told of hosts that may not
// register, metrics what they measure and leases which virtual IPs they ask for while this server leads.
func NewBackend(server Server, liveness Liveness, poolInfo PoolInfo, client *rpc.Client, refusals peer.Refusals, metrics Metrics, leases Leases) *Backend {
	b := &Backend{server: server, liveness: liveness, poolInfo: poolInfo, client: client, refusals: refusals, metrics: metrics, leases: leases}
	b.routings.of = routing.Compute
	b.reports = rpc.Batcher[reportRequest, reportReply]{Handle: b.forwardReports, MaxBatch: maxReportBatch}
	return b
}

// Join records the host as it describes itself and what it runs, and returns the ids of tasks that it should not run. A
// cluster that nobody has created yet, or that was deleted, is created by the first host that names it. It returns when
// this server's own state has the host.
func (b *Backend) Join(ctx context.Context, host spec.Host, running []spec.TaskReport) ([]string, error) {
	ctx, done, err := b.server.BeginCall(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	r := Registration{host, running}
	var reply RegistrationReply
	err = b.server.CallLeader(ctx, func() (err error) {
		reply, err = b.Register(ctx, r)
		return err
	}, func(ctx context.Context, address string) error {
		return b.client.Call(ctx, address, PathRegister, r, &reply)
	})
	if err == nil {
		err = b.waitForIndex(ctx, reply.Index)
	}
	return reply.Unknown, err
}

// Register is Join on the leader. A second process with the identity of a host that is alive is refused (spec.ErrHostElsewhere).
func (b *Backend) Register(ctx context.Context, r Registration) (RegistrationReply, error) {
	reply, err := b.register(ctx, r)
	if errors.Is(err, spec.ErrHostElsewhere) || errors.Is(err, spec.ErrInUse) {
		b.refusals.Report(peer.Refusal{Operation: peer.OpRegister, HostID: r.Host.ID, Address: r.Host.Address, Reason: err})
	}
	return reply, err
}

// RegisterHandler is the leader's side of registrations that another server forwards. leader is this host's backend while its
// server leads.
func RegisterHandler(leader func() (*Backend, error)) rpc.HandlerFunc {
	return rpc.ServerJSON(func(ctx context.Context, _ string, r Registration) (RegistrationReply, error) {
		b, err := leader()
		if err != nil {
			return RegistrationReply{}, err
		}
		return b.Register(ctx, r)
	})
}

func (b *Backend) register(ctx context.Context, r Registration) (RegistrationReply, error) {
	if err := checkHost(&r.Host); err != nil {
		return RegistrationReply{}, err
	}
	now, state := b.server.Now(), b.server.State()
	if !b.rate.allow(r.Host.ID, now) {
		return RegistrationReply{}, fmt.Errorf("host %s describes itself more often than once a second: %w", r.Host.ID, spec.ErrBusy)
	}
	if known := state.View().Host(r.Host.ID); known != nil {
		if err := known.CheckProcess(r.Host.Location, r.Host.Starts, !known.Lost() && b.liveness.Heard(known.ID)); err != nil {
			return RegistrationReply{}, err
		}
	}
	cluster, err := state.View().HostCluster(&r.Host)
	if err != nil {
		return RegistrationReply{}, err
	}
	r.Host.Cluster = cluster
	if known := state.View().Cluster(r.Host.Cluster); known == nil || known.Status != spec.ClusterActive {
		cluster := spec.Cluster{Name: r.Host.Cluster, Status: spec.ClusterActive, CreatedAt: now}
		if _, err := b.server.Propose(ctx, raftfsm.CreateCluster{Cluster: cluster}); err != nil {
			return RegistrationReply{}, err
		}
	}
	r.Host.RegisteredAt = now // of a new host; the oldest come first when servers are chosen
	if r.Host.HealthAt = now; state.View().MayWrite(raftfsm.PutHost{Host: r.Host}) != nil {
		r.Host.HealthAt = time.Time{} // a server of the pool does not know it yet
	}
	if _, err := b.server.Propose(ctx, raftfsm.PutHost{Host: r.Host}); err != nil {
		return RegistrationReply{}, err
	}
	unknown, err := b.report(ctx, r.Host.ID, r.Running)
	if err != nil {
		return RegistrationReply{}, err
	}
	b.liveness.Record(r.Host.ID)
	return RegistrationReply{unknown, state.View().Index()}, nil
}

// Heartbeat takes the heartbeat of a host, with the draining targets to which it has no request in flight: see liveness.Monitor.
func (b *Backend) Heartbeat(ctx context.Context, hostID string, drained []string) error {
	if err := b.liveness.Heartbeat(ctx, hostID); err != nil {
		return err
	}
	b.liveness.RecordDrained(hostID, drained)
	return nil
}

// LeaderUnreachable reports whether this server has reached no leader for too long: its hosts choose another.
func (b *Backend) LeaderUnreachable() bool { return b.liveness.LeaderUnreachable() }

// Assignments waits until what the host must run differs from what index after stands for, and returns all of it with
// the index to ask from next time; 0 asks for an answer at once. No answer is older than minIndex, which the host has
// seen: a server that lags behind waits until it has caught up. A host's own reports do not wake it.
// spec.ErrNotFound when the pool does not know the host: it must join first.
func (b *Backend) Assignments(ctx context.Context, hostID string, after, minIndex uint64) ([]spec.Assignment, uint64, error) {
	ctx, done, err := b.server.BeginCall(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer done()
	if err := b.waitForIndex(ctx, minIndex); err != nil {
		return nil, 0, err
	}
	for {
		list, index, changed, err := b.versions.current(b.server.State(), hostID, minIndex)
		if err != nil || index != after {
			return list, index, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, context.Cause(ctx)
		}
	}
}

// catchUpTimeout is how long a server that lags behind is given.
const catchUpTimeout = 5 * time.Second

// waitForIndex waits until the state has the change at index, and everything before it.
func (b *Backend) waitForIndex(ctx context.Context, index uint64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, catchUpTimeout, spec.ErrBehind)
	defer cancel()
	return b.server.State().WaitForIndex(ctx, index)
}

// Sessions counts the hosts that have a session with this server.
func (b *Backend) Sessions() int { return b.balancer.count() }

// maxSessions is the sessionLimit of this server.
func (b *Backend) maxSessions() int {
	servers := 1
	if info := b.poolInfo.PoolInfo(); info != nil {
		servers = len(info.Servers)
	}
	return sessionLimit(len(b.server.State().View().Hosts("")), servers)
}
