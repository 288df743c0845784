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
	heartbeat = time.Second
	// inventoryTimeout is for a driver that hangs: the host then joins without GPUs and says why.
	inventoryTimeout = 20 * time.Second
)

// join tells the cluster who this host is and what it runs.
func (n *Node) join(ctx context.Context) error {
	return retry(ctx, n.config.Log, "join the cluster", func(ctx context.Context) error {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reports := n.reports()
		unknown, err := n.config.Control.Join(call, n.self(), reports)
		if err == nil {
			n.disown(unknown)
			n.reported(len(reports))
		}
		return err
	})
}

// reported notes that the cluster has taken what runs here: now this host may be given work.
func (n *Node) reported(tasks int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.config.Log.Debug("agent: what runs here is reported", "tasks", tasks)
	close(n.told)
	n.told = make(chan struct{})
}

// joinFirst has the host join again, after an answer that said that the cluster does not know it, and waits until that is
// done.
func (n *Node) joinFirst(ctx context.Context, why error) {
	n.mu.Lock()
	n.config.Log.Debug("agent: what runs here is not reported", "err", why)
	told := n.told
	n.mu.Unlock()
	n.joinAgain()
	select {
	case <-told:
	case <-ctx.Done():
	}
}

func (n *Node) self() spec.Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host
}

// stayKnown sends a heartbeat every second, and joins again when the cluster does not know this host or something
// about the host has changed.
func (n *Node) stayKnown(ctx context.Context) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	heard := true
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.rejoin:
			_ = n.join(ctx)
		case <-beat.C:
			err := n.beat(ctx)
			if (err == nil) != heard && ctx.Err() == nil {
				heard = err == nil
				n.config.Log.Info("heartbeat", "heard", heard, "err", err)
			}
		}
	}
}

func (n *Node) beat(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := n.config.Control.Heartbeat(call, n.config.Host.ID)
	n.rejoinIfUnknown(err)
	return err
}

// rejoinIfUnknown asks for a new join when the cluster's answer was that it does not know this host.
func (n *Node) rejoinIfUnknown(err error) {
	if errors.Is(err, spec.ErrNotFound) {
		n.joinAgain()
	}
}

func (n *Node) joinAgain() {
	select {
	case n.rejoin <- struct{}{}:
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
		before := n.self().GPUs
		if n.readGPUs(ctx) != nil {
			return
		}
		if !reflect.DeepEqual(before, n.self().GPUs) {
			n.joinAgain()
		}
	}
}

// readGPUs fills in the host's GPUs. A source that cannot tell is a state of the host, not an error: only the end of
// ctx is one.
func (n *Node) readGPUs(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	inventory, err := n.config.GPUs.Inventory(call)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		n.config.Log.Error("the GPUs of this host cannot be read", "err", err)
		inventory = unsure(n.self().GPUs, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host.GPUs = inventory
	return nil
}

// unsure is what is known of GPUs that cannot be read now: they are there, and given to nobody.
func unsure(last gpu.Inventory, err error) gpu.Inventory {
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
	n.rejoinIfUnknown(err)
	if err == nil {
		n.disown(unknown)
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
		if !closed(r.dropped) {
			all = append(all, r.snapshot())
		}
	}
	for id, found := range n.found {
		report := spec.TaskReport{TaskID: id, Status: spec.Pending}
		for _, f := range found {
			report.Containers = append(report.Containers, f.report())
		}
		all = append(all, report)
	}
	return all
}

// report is what can be told of a found container.
func (f Found) report() spec.ContainerReport {
	report := spec.ContainerReport{Name: f.Name, Status: spec.Pending, RuntimeID: f.ID, ImageDigest: f.Image.Digest}
	if !f.StartedAt.IsZero() {
		report.Status = spec.Running
	}
	if f.Exit != nil {
		report.Status = spec.Stopped
		f.Exit.describe(&report)
	}
	return report
}
