package dispatch

import (
	"context"
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// Metrics keeps what hosts have measured, on the leader.
type Metrics interface {
	Put(hostID string, r metric.Report, now time.Time)
}

// measureRequest is what a host has measured, as its server sends it to the leader.
type measureRequest struct {
	Host   string        `json:"host"`
	Report metric.Report `json:"report"`
}

// Measure takes what a host has measured, and returns the tasks that the host is to measure from now on: those of services that follow a metric
// of hosts. A report is only for the leader's memory: one that is lost is followed by the next.
func (b *Backend) Measure(ctx context.Context, hostID string, r metric.Report) ([]string, error) {
	ctx, done, err := b.server.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if n := len(r.Tasks) + len(r.Waiting); n > metric.MaxReported {
		return nil, fmt.Errorf("host %s reports %d measures at once: %w: %d are allowed", hostID, n, spec.ErrLimit, metric.MaxReported)
	} else if n > 0 {
		err = b.server.CallLeader(ctx, func() error {
			b.metrics.Put(hostID, r, b.server.Now())
			return nil
		}, func(ctx context.Context, address string) error {
			return b.client.Call(ctx, address, PathMetrics, measureRequest{hostID, r}, &struct{}{})
		})
	}
	return measuredTasks(b.server.State().View(), hostID), err
}

// MetricsHandler is the leader's side of measures that another server forwards. leader is this host's backend while its server leads.
func MetricsHandler(leader func() (*Backend, error)) rpc.HandlerFunc {
	return rpc.ServerJSON(func(_ context.Context, _ string, r measureRequest) (struct{}, error) {
		b, err := leader()
		if err != nil {
			return struct{}{}, err
		}
		b.metrics.Put(r.Host, r.Report, b.server.Now())
		return struct{}{}, nil
	})
}

// measuredTasks are the running tasks of a host whose services follow a metric of hosts.
func measuredTasks(v *raftfsm.View, hostID string) (ids []string) {
	for _, t := range v.TasksOn(hostID) {
		if t.Service == nil || t.LastStatus != spec.Running {
			continue
		}
		if target := raftfsm.ScalableTarget(v, t.Service.ID); target != nil && target.FollowsHosts() {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// Measure is Backend.Measure at the endpoint in use.
func (u *Upstream) Measure(ctx context.Context, hostID string, r metric.Report) ([]string, error) {
	c := u.current.Load()
	if c == nil {
		return nil, errDisconnected
	}
	return c.Measure(ctx, hostID, r)
}
