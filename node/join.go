package node

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

const (
	heartbeatInterval = time.Second
	// inventoryTimeout is for a driver that hangs: the host then joins without GPUs and says why.
	inventoryTimeout = 20 * time.Second
)

// join tells the cluster who this host is and what it runs.
func (n *Node) join(ctx context.Context) error {
	return retry(ctx, n.config.Log, "join the cluster", func(ctx context.Context) error {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reports := n.reports()
		unknown, err := n.config.Control.Join(call, n.currentHost(), reports)
		if err == nil {
			n.stopUnknown(unknown)
			n.confirmJoin(len(reports))
		}
		return err
	})
}

// confirmJoin notes that the cluster has taken what runs here: now this host may be given work.
func (n *Node) confirmJoin(tasks int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.config.Log.Debug("agent: what runs here is reported", "tasks", tasks)
	close(n.reportedCh)
	n.reportedCh = make(chan struct{})
}

// rejoinAndWait has the host join again, after an answer that said that the cluster does not know it, and waits until that is
// done.
func (n *Node) rejoinAndWait(ctx context.Context, why error) {
	n.mu.Lock()
	n.config.Log.Debug("agent: what runs here is not reported", "err", why)
	reportedCh := n.reportedCh
	n.mu.Unlock()
	n.requestRejoin()
	select {
	case <-reportedCh:
	case <-ctx.Done():
	}
}

func (n *Node) currentHost() spec.Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

// heartbeatLoop sends a heartbeat every second, and joins again when the cluster does not know this host or something
// about the host has changed.
func (n *Node) heartbeatLoop(ctx context.Context) {
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	reachable := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.rejoinCh:
			_ = n.join(ctx)
		case <-ticker.C:
			err := n.sendHeartbeat(ctx)
			if (err == nil) != reachable && ctx.Err() == nil {
				reachable = err == nil
				n.config.Log.Info("heartbeat", "heard", reachable, "err", err)
			}
		}
	}
}

func (n *Node) sendHeartbeat(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := n.config.Control.Heartbeat(call, n.config.Host.ID)
	n.rejoinIfNotFound(err)
	return err
}

// rejoinIfNotFound asks for a new join when the cluster's answer was that it does not know this host.
func (n *Node) rejoinIfNotFound(err error) {
	if errors.Is(err, spec.ErrNotFound) {
		n.requestRejoin()
	}
}

func (n *Node) requestRejoin() {
	select {
	case n.rejoinCh <- struct{}{}:
	default:
	}
}

// watchGPUs reads the inventory anew each time the source says that it may have changed.
func (n *Node) watchGPUs(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-n.config.GPUs.Changed():
			if !open {
				return
			}
		}
		before := n.currentHost().GPUs
		if n.refreshInventory(ctx) != nil {
			return
		}
		if !reflect.DeepEqual(before, n.currentHost().GPUs) {
			n.requestRejoin()
		}
	}
}

// refreshInventory fills in the host's GPUs. A source that cannot tell is a state of the host, not an error: only the end of
// ctx is one.
func (n *Node) refreshInventory(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	inventory, err := n.config.GPUs.Inventory(call)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		n.config.Log.Error("the GPUs of this host cannot be read", "err", err)
		inventory = markUnhealthy(n.currentHost().GPUs, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host.GPUs = inventory
	return nil
}

// markUnhealthy is what is known of GPUs that cannot be read now: they are there, and given to nobody.
func markUnhealthy(last gpu.Inventory, err error) gpu.Inventory {
	last.Problem = err.Error()
	last.Devices = slices.Clone(last.Devices)
	for i := range last.Devices {
		last.Devices[i].Health, last.Devices[i].Problem = gpu.Unhealthy, "its state cannot be read: "+err.Error()
	}
	return last
}

// sendReports is the reporter's call.
func (n *Node) sendReports(ctx context.Context, reports []spec.TaskReport) error {
	unknown, err := n.config.Control.Report(ctx, n.config.Host.ID, reports)
	n.rejoinIfNotFound(err)
	if err == nil {
		n.stopUnknown(unknown)
	}
	return err
}

// reports is what this host runs, for a join: what its runners know, and for containers that have no runner yet what
// can be told without their definition. Such a task is called PENDING, which takes nothing back.
func (n *Node) reports() []spec.TaskReport {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []spec.TaskReport
	for _, r := range n.runners {
		if !isClosed(r.unassigned) {
			all = append(all, r.reportSnapshot())
		}
	}
	for id, found := range n.existing {
		report := spec.TaskReport{TaskID: id, Status: spec.Pending}
		for _, f := range found {
			report.Containers = append(report.Containers, f.report())
		}
		all = append(all, report)
	}
	return all
}

// report is what can be told of a found container.
func (f ExistingContainer) report() spec.ContainerReport {
	report := spec.ContainerReport{Name: f.Name, Status: spec.Pending, RuntimeID: f.ID, ImageDigest: f.Image.Digest}
	if !f.StartedAt.IsZero() {
		report.Status = spec.Running
	}
	if f.Exit != nil {
		report.Status = spec.Stopped
		f.Exit.fillReport(&report)
	}
	return report
}
