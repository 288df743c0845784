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
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"pinion/node/runtime"
	"pinion/packaging/atomicfile"
	"pinion/packaging/tick"
	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/traffic"
)

const (
	// subnetWait bounds how long a task waits for the pool to tell the host its subnet. It comes with the first Routing.
	subnetWait = 30 * time.Second
	// routesInterval is the time after which the routes are set again: the kernel drops them with the interface that they lead over.
	routesInterval = 10 * time.Second
)

// Proxy takes the Routing behind the network of tasks.
type Proxy interface {
	Apply(traffic.Routing) map[string]error
}

// TaskNetwork has the tasks of this host that have an address of their own: a bridge with the subnet that the pool has given to the host, and routes to
// those of the other hosts in the same network.
type TaskNetwork struct {
	network *tasknetwork.Network // nil: only what an earlier start has attached is left
	hostID  string
	log     *slog.Logger
	bridge  *Bridge
	proxy   Proxy

	mu     sync.Mutex
	told   bool   // a Routing has come; before, the routes of an earlier start stay
	subnet string // of this host, as the pool says; empty: none
	routes []tasknetwork.Route

	raised sync.Once
	known  chan struct{} // closed when the bridge has the subnet

	applying sync.Mutex // held while the bridge and the routes are changed
	reported error      // what of them failed last
}

func openTasks(c Config) (*TaskNetwork, error) {
	t := &TaskNetwork{network: c.Tasks, hostID: c.HostID, log: c.Log, known: make(chan struct{})}
	if c.Tasks != nil {
		if err := checkUnused(c.Tasks); err != nil {
			return nil, err
		}
	}
	bridge, err := Open(c.CNI, tasksDir(c.Dir))
	if err != nil {
		return nil, err
	}
	bridge.choose = t.bridgeConfig
	t.bridge = bridge
	within := ""
	if c.Tasks != nil {
		within = c.Tasks.Range
	}
	return t, t.changeRange(tasksDir(c.Dir), within)
}

// checkUnused refuses a range in which this machine has addresses already, other than those of bridges of networks of tasks.
func checkUnused(n *tasknetwork.Network) error {
	all, err := netip.ParsePrefix(n.Range)
	if err != nil {
		return fmt.Errorf("network of tasks: %w", err)
	}
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("interfaces of this host: %w", err)
	}
	for _, link := range links {
		if isTaskBridge(link.Attrs().Name) {
			continue
		}
		addresses, err := netlink.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			return fmt.Errorf("addresses of %s: %w", link.Attrs().Name, err)
		}
		for _, a := range addresses {
			if own, err := netip.ParsePrefix(a.IPNet.String()); err == nil && own.Masked().Overlaps(all) {
				return fmt.Errorf("--task-network %s: %s of this machine has the address %s in it: choose a range that your machines do not use", n, link.Attrs().Name, own)
			}
		}
	}
	return nil
}

// bridgeConfig is the bridge of the subnet, for the Bridge that makes it.
func (t *TaskNetwork) bridgeConfig() (bridgeConfig, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.network == nil || t.subnet == "" {
		return bridgeConfig{}, errNoTaskNetwork
	}
	return bridgeConfig{Bridge: taskBridge, Subnet: t.subnet, Range: t.network.Range}, nil
}

// Before has the network of each Routing in place before the proxy gets it.
func (t *TaskNetwork) Before(proxy Proxy) *TaskNetwork {
	t.proxy = proxy
	return t
}

// Apply gives the bridge the subnet of this host and sets the routes to the others.
func (t *TaskNetwork) Apply(routing traffic.Routing) map[string]error {
	if t.network != nil {
		t.take(routing.TaskNetworks)
	}
	return t.proxy.Apply(routing)
}

// Run keeps the bridge and the routes until ctx ends.
func (t *TaskNetwork) Run(ctx context.Context) {
	ticker := tick.New(routesInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.apply()
		case <-ctx.Done():
			return
		}
	}
}

// take takes in the pool's networks of tasks. It is believed within the network that the operator of this host has named: no host can draw other
// traffic of this one to itself.
func (t *TaskNetwork) take(all []tasknetwork.Route) {
	own, others := "", []tasknetwork.Route(nil)
	for _, r := range all {
		switch {
		case r.Network != t.network.Name || r.Range != t.network.Range || !t.network.Has(r.Subnet):
		case r.HostID == t.hostID:
			own = r.Subnet
		default:
			others = append(others, r)
		}
	}
	t.mu.Lock()
	t.told, t.subnet, t.routes = true, own, others
	t.mu.Unlock()
	t.apply()
}

// apply gives the bridge and the routes the state that the pool has told last. A failure is logged once, and tried again.
func (t *TaskNetwork) apply() {
	t.applying.Lock()
	defer t.applying.Unlock()
	t.mu.Lock()
	told, subnet, routes := t.told, t.subnet, t.routes
	t.mu.Unlock()
	if t.network == nil || !told {
		return
	}
	failed := []error{setRoutes(t.network.Range, routes)}
	if subnet == "" {
		failed = append(failed, fmt.Errorf("the pool has no subnet of %s for this host: it has more hosts than the range has room for, or has just begun", t.network))
	} else if err := t.raise(subnet); err != nil {
		failed = append(failed, fmt.Errorf("subnet %s: %w", subnet, err))
	}
	err := errors.Join(failed...)
	if fmt.Sprint(err) != fmt.Sprint(t.reported) {
		if t.reported = err; err != nil {
			t.log.Warn("tasks of networkMode awsvpc do not start here, or do not reach those of other hosts", "network", t.network.String(), "error", err)
		}
	}
}

// raise makes the bridge of the subnet, with the first address of it.
func (t *TaskNetwork) raise(subnet string) error {
	gateway, err := tasknetwork.Gateway(subnet)
	if err != nil {
		return err
	}
	if had := t.bridge.subnet(); had != "" && had != subnet {
		if attached, err := t.bridge.records.all(); err != nil || len(attached) > 0 {
			return errors.Join(err, fmt.Errorf("tasks here have addresses of the earlier subnet %s: it changes when they have ended and pinion has started again", had))
		}
		if err := t.bridge.deallocate(); err != nil {
			return err
		}
	}
	if err := t.bridge.ensure(); err != nil {
		return err
	}
	if err := t.bridge.setAddress(gateway); err != nil {
		return err
	}
	t.raised.Do(func() { close(t.known) })
	return nil
}

// Attach attaches a task. It waits until the subnet of this host is known, unless the task is attached already.
func (t *TaskNetwork) Attach(ctx context.Context, r runtime.AttachRequest) (runtime.Attachment, error) {
	if known, ok := t.bridge.records.read(r.ID); ok && known.Complete {
		return t.bridge.attachment(known), nil
	}
	if t.network == nil {
		return runtime.Attachment{}, errNoTaskNetwork
	}
	ctx, cancel := context.WithTimeoutCause(ctx, subnetWait, fmt.Errorf("this host has no subnet of the network %s: the pool has not given it one yet, or its log says what is wrong with it", t.network))
	defer cancel()
	select {
	case <-t.known:
		return t.bridge.Attach(ctx, r)
	case <-ctx.Done():
		return runtime.Attachment{}, context.Cause(ctx)
	}
}

// Close is Bridge.Close. When no task is left the routes go, too.
func (t *TaskNetwork) Close() error {
	if err := t.bridge.Close(); err != nil {
		return err
	}
	if t.network == nil || t.bridge.subnet() != "" {
		return nil
	}
	return setRoutes(t.network.Range, nil)
}

// rangeFile has the range of the network, in the state: routes are in it, which outlive the process.
const rangeFile = "range"

// changeRange removes the routes of an earlier network whose range was another one, and the rules that name it. An empty range is none.
func (t *TaskNetwork) changeRange(dir, now string) error {
	before, err := readRange(dir)
	if err != nil || before == now {
		return err
	}
	if before != "" {
		if err := setRoutes(before, nil); err != nil {
			return err
		}
	}
	if err := t.bridge.setRange(now); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, rangeFile), []byte(now), 0o600)
}

// readRange is the range of the state; empty: it has none.
func readRange(dir string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, rangeFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("network state: %w", err)
	}
	return string(raw), nil
}
