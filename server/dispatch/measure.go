package dispatch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/scaling"
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

// Measure takes what a host has measured, and returns what the host is to measure from now on. What it says of tasks of other hosts is dropped, but
// for what its proxy sends them. A report is only for the leader's memory: one that is lost is followed by the next.
func (b *Backend) Measure(ctx context.Context, hostID string, r metric.Report) (metric.Selection, error) {
	ctx, done, err := b.server.BeginCall(ctx)
	if err != nil {
		return metric.Selection{}, err
	}
	defer done()
	wanted := wantedOf(b.server.State().View(), hostID)
	if n := len(r.Tasks) + len(r.Waiting); n > metric.MaxReported {
		return metric.Selection{}, fmt.Errorf("host %s reports %d measures at once: %w: %d are allowed", hostID, n, spec.ErrLimit, metric.MaxReported)
	} else if n > 0 || r.Proxy {
		r.Tasks = slices.DeleteFunc(slices.Clone(r.Tasks), func(t metric.Task) bool { return !t.Name.OfProxies() && !measures(wanted, t.TaskID) })
		err = b.server.CallLeader(ctx, func() error {
			b.metrics.Put(hostID, r, b.server.Now())
			return nil
		}, func(ctx context.Context, address string) error {
			return b.client.Call(ctx, address, PathMetrics, measureRequest{hostID, r}, &struct{}{})
		})
	}
	return wanted, err
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

// wantedOf is what a host is to measure: the running tasks of whose services a metric of hosts is followed, and what its proxy sends, when that is
// of any service.
func wantedOf(v *raftfsm.View, hostID string) (w metric.Selection) {
	w.Proxy = alarm.AnyOfProxies(v) || slices.ContainsFunc(scaling.All(v), func(t *scaling.Target) bool { return slices.ContainsFunc(t.Sources(), metric.Name.OfProxies) })
	for _, t := range v.TasksOn(hostID) {
		if t.Service == nil || t.LastStatus != spec.Running {
			continue
		}
		s := v.ServiceByID(t.Service.ID)
		if s == nil {
			continue
		}
		if followed := alarm.Followed(v, s); slices.ContainsFunc(followed, metric.Name.OfHosts) {
			w.Tasks = append(w.Tasks, wantedTask(v, t, followed))
		}
	}
	return w
}

// measures reports whether a host is to measure a task.
func measures(w metric.Selection, taskID string) bool {
	return slices.ContainsFunc(w.Tasks, func(t metric.SelectedTask) bool { return t.ID == taskID })
}

// wantedTask is what a host is to measure of a task by what is followed of its service.
func wantedTask(v *raftfsm.View, t *spec.Task, followed []metric.Name) metric.SelectedTask {
	w := metric.SelectedTask{ID: t.ID}
	if slices.Contains(followed, metric.GPU) {
		for i := range t.Containers {
			w.GPUs = append(w.GPUs, t.Containers[i].GPUs...)
		}
	}
	w.Export = exportOf(v, t, followed)
	return w
}

// exportOf is what a host is to read of the metrics that a task exports; nil: nothing.
func exportOf(v *raftfsm.View, t *spec.Task, followed []metric.Name) *metric.Export {
	var names []string
	for _, n := range followed {
		if n.IsExported() {
			names = append(names, n.Part())
		}
	}
	definition := v.Definition(t.Definition)
	if len(names) == 0 || definition == nil {
		return nil
	}
	for i := range definition.Containers {
		c := &definition.Containers[i]
		port, path, err := scaling.ExportPort(c.DockerLabels)
		if own, at := routing.Endpoint(v, t, c.Name, port); err == nil && port > 0 && at > 0 {
			return &metric.Export{Port: at, Path: path, Names: names, Address: own}
		}
	}
	return nil
}

// Measure is Backend.Measure at the endpoint in use.
func (u *Upstream) Measure(ctx context.Context, hostID string, r metric.Report) (metric.Selection, error) {
	c := u.current.Load()
	if c == nil {
		return metric.Selection{}, errDisconnected
	}
	return c.Measure(ctx, hostID, r)
}
