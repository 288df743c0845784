package node

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"pinion/gpu"
	"pinion/node/runtime"
	"pinion/packaging/backoff"
	"pinion/packaging/tick"
	"pinion/raftfsm/spec"
)

// heartbeatInterval is the time between two heartbeats.
const heartbeatInterval = time.Second

// join registers this host with the pool, with the reports of what it runs.
func (n *Node) join(ctx context.Context) error {
	return backoff.Retry(ctx, n.config.Log, "join the cluster", func(ctx context.Context) error {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		host, reports := n.currentHost(), n.reports()
		unknown, err := n.config.Control.Join(call, host, reports)
		if err == nil {
			n.stopUnknown(unknown)
			n.confirmJoin(host.GPUs, len(reports))
		}
		return err
	})
}

// confirmJoin notes that the pool has recorded this host with its GPUs and tasks: from now on it may be given work.
func (n *Node) confirmJoin(gpus gpu.Inventory, tasks int) {
	n.GPUs.setRecorded(gpus)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.config.Log.Debug("agent: what runs here is reported", "tasks", tasks)
	close(n.reportedCh)
	n.reportedCh = make(chan struct{})
}

// rejoinAndWait joins again after the pool answered that it does not know this host, and waits until that is done.
func (n *Node) rejoinAndWait(ctx context.Context, why error) {
	n.mu.Lock()
	n.config.Log.Debug("agent: what runs here is not reported", "error", why)
	reportedCh := n.reportedCh
	n.mu.Unlock()
	n.rejoin.request()
	select {
	case <-reportedCh:
	case <-ctx.Done():
	}
}

func (n *Node) currentHost() spec.Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	host := n.host
	host.GPUs, host.SharedVolumes = n.GPUs.current(), n.config.Volumes.Shared()
	return host
}

// rejoinLoop joins again when the pool does not know this host or the host's description has changed. A join may take many attempts; heartbeats go on
// meanwhile, so that nobody takes the host for lost.
func (n *Node) rejoinLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.rejoin.requested:
			n.rejoin.running.Store(true)
			_ = n.join(ctx)
			n.rejoin.running.Store(false)
		}
	}
}

// heartbeatLoop sends a heartbeat every second.
func (n *Node) heartbeatLoop(ctx context.Context) {
	ticker := tick.New(heartbeatInterval)
	defer ticker.Stop()
	reachable := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.Routes.kick:
			_ = n.sendHeartbeat(ctx)
		case <-ticker.C:
			err := n.sendHeartbeat(ctx)
			if (err == nil) != reachable && ctx.Err() == nil {
				reachable = err == nil
				n.config.Log.Info("heartbeat", "reachable", reachable, "error", err)
			}
		}
	}
}

func (n *Node) sendHeartbeat(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := n.config.Control.Heartbeat(call, n.config.Host.ID, n.Routes.drainedTargets())
	n.rejoin.requestIfNotFound(err)
	return err
}

// rejoin is the request to join again.
type rejoin struct {
	requested chan struct{} // holds a value while the host has to join again
	running   atomic.Bool   // it joins
}

func (r *rejoin) request() {
	select {
	case r.requested <- struct{}{}:
	default:
	}
}

// requestIfNotFound requests a join when the pool answered that it does not know this host, unless one is under way already.
func (r *rejoin) requestIfNotFound(err error) {
	if errors.Is(err, spec.ErrNotFound) && !r.running.Load() {
		r.request()
	}
}

// sendReports sends one batch of the reporter's.
func (n *Node) sendReports(ctx context.Context, reports []spec.TaskReport) error {
	unknown, err := n.config.Control.Report(ctx, n.config.Host.ID, reports)
	n.rejoin.requestIfNotFound(err)
	if err == nil {
		n.stopUnknown(unknown)
	}
	return err
}

// reports lists the tasks of this host, for a join: the runners' reports, and for existing containers without a runner the
// part that is known without their definition. Such a task is reported PENDING, which takes no status back.
func (n *Node) reports() []spec.TaskReport {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []spec.TaskReport
	for _, r := range n.runners {
		if !r.Abandoned() {
			all = append(all, r.Report())
		}
	}
	for id, found := range n.existing {
		report := spec.TaskReport{TaskID: id, Status: spec.Pending}
		for _, f := range found {
			report.Containers = append(report.Containers, existingReport(f))
		}
		all = append(all, report)
	}
	return all
}

// existingReport is the report of an existing container without its definition.
func existingReport(f runtime.ExistingContainer) spec.ContainerReport {
	report := spec.ContainerReport{Name: f.Name, Status: spec.Pending, RuntimeID: f.ID, ImageDigest: f.Image.Digest}
	if !f.StartedAt.IsZero() {
		report.Status = spec.Running
	}
	if f.Exit != nil {
		report.Status = spec.Stopped
		f.Exit.FillReport(&report)
	}
	return report
}
