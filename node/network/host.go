package network

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"

	"pinion/node/runtime"
	"pinion/raftfsm/tasknetwork"
)

var _ runtime.Network = (*Host)(nil)

// Config has the options of a host's networks.
type Config struct {
	CNI    string               // directory of the CNI plugins
	Dir    string               // directory of the state
	HostID string               // this host's
	Tasks  *tasknetwork.Network // the network of tasks, as the operator has named it; nil: the host has none
	Log    *slog.Logger
}

// Host is the networks of the containers of a host: its Bridge for the mode bridge, its TaskNetwork for the mode awsvpc.
type Host struct {
	Bridge *Bridge
	Tasks  *TaskNetwork // nil: the host has none, and has no attachments of an earlier one
}

// OpenHost recovers the networks of the state as Open does. An error when the network of tasks overlaps one of this machine.
func OpenHost(c Config) (*Host, error) {
	bridge, err := Open(c.CNI, c.Dir)
	if err != nil {
		return nil, err
	}
	h := &Host{Bridge: bridge}
	_, err = os.Stat(tasksDir(c.Dir))
	if c.Tasks == nil && errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if c.Tasks != nil {
		all, err := netip.ParsePrefix(c.Tasks.Range)
		if err != nil {
			return nil, fmt.Errorf("network of tasks: %w", err)
		}
		bridge.avoid = append(bridge.avoid, all)
		if own, err := netip.ParsePrefix(bridge.subnet()); err == nil && own.Overlaps(all) {
			return nil, fmt.Errorf("--task-network %s: the containers of this host in mode bridge have addresses in it (%s): choose another range", c.Tasks, own)
		}
	}
	h.Tasks, err = openTasks(c)
	return h, err
}

// OnSubnet has report called with each subnet of which containers of this host have addresses: with those that there are, and with every further one
// before a container has an address of it. An error of report is one of the attachment.
func (h *Host) OnSubnet(report func(netip.Prefix) error) error {
	err := h.Bridge.onSubnet(report)
	if h.Tasks != nil {
		err = errors.Join(err, h.Tasks.bridge.onSubnet(report))
	}
	return err
}

func (b *Bridge) onSubnet(report func(netip.Prefix) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report = report
	return b.reportSubnet()
}

// reportSubnet reports the subnet, if there is one. The caller holds the lock.
func (b *Bridge) reportSubnet() error {
	if b.config == nil || b.report == nil {
		return nil
	}
	subnet, err := netip.ParsePrefix(b.config.Subnet)
	if err != nil {
		return fmt.Errorf("subnet of bridge %s: %w", b.config.Bridge, err)
	}
	return b.report(subnet)
}

// tasksDir has the state of the network of tasks, in that of a host's networks.
func tasksDir(dir string) string { return filepath.Join(dir, "tasks") }

// TaskSubnet is the subnet of the tasks of this host that have an address of their own, empty while there is none.
func (h *Host) TaskSubnet() string {
	if h.Tasks == nil {
		return ""
	}
	return h.Tasks.bridge.subnet()
}

// Problem explains which network features this host lacks, and the remedy; empty when there is no problem.
func (h *Host) Problem() string { return h.Bridge.Problem() }

// Close is Bridge.Close of both networks.
func (h *Host) Close() error {
	if h.Tasks == nil {
		return h.Bridge.Close()
	}
	return errors.Join(h.Bridge.Close(), h.Tasks.Close())
}

// Attach implements runtime.Network.
func (h *Host) Attach(ctx context.Context, r runtime.AttachRequest) (runtime.Attachment, error) {
	if r.Mode != runtime.NetworkAwsvpc {
		return h.Bridge.Attach(ctx, r)
	}
	if h.Tasks == nil {
		return runtime.Attachment{}, errNoTaskNetwork
	}
	return h.Tasks.Attach(ctx, r)
}

// Detach implements runtime.Network.
func (h *Host) Detach(ctx context.Context, id string) error {
	if h.Tasks == nil {
		return h.Bridge.Detach(ctx, id)
	}
	return errors.Join(h.Bridge.Detach(ctx, id), h.Tasks.bridge.Detach(ctx, id))
}

var errNoTaskNetwork = errors.New("this host has no network for tasks of networkMode awsvpc: start it with pinion up --task-network RANGE")
