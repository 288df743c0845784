package node_test

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"pinion/gpu"
	"pinion/node"
	"pinion/node/gpuhealth"
	"pinion/node/gpuusage"
	"pinion/node/machine"
	"pinion/node/runtime/fake"
	"pinion/node/task"
	"pinion/node/volume"
	"pinion/raftfsm/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hostID = "0123456789abcdef0123456789abcdef"

// simHost is a host and its cluster. Time in it is simulated; waitIdle lets everything that can happen now happen.
type simHost struct {
	*testing.T
	machine *fake.Machine
	network *fake.Network
	gpus    *fakeGPUs
	sharer  *fakeSharer
	control *fakeControl
	dir     string
	hooks   func(spec.Assignment) []task.Hook
	allow   []string // what the operator allows containers
	userns  spec.UserNamespaces

	partitions     node.Partitions // nil: the pool partitions no GPUs
	maxStopTimeout time.Duration
	volumes        *volume.Roots
	bootID         string
	booted         time.Time

	node    *node.Node
	runtime *fake.Runtime
	crash   func() // ends the agent that runs; its containers run on
}

// simulate runs a scenario in a world of its own, and ends the agent after it.
func simulate(t *testing.T, scenario func(w *simHost)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &simHost{T: t, machine: fake.New(), network: fake.NewNetwork(), gpus: newFakeGPUs("GPU-0", "GPU-1"), sharer: newFakeSharer(), control: newFakeControl(), dir: dir, booted: time.Now(), crash: func() {}}
		defer func() { w.crash() }()
		scenario(w)
	})
}

// boot starts the agent on the host, after a crash too.
func (w *simHost) boot() {
	w.runtime = w.machine.Open()
	health, err := gpuhealth.Open(gpuhealth.Config{Dir: w.dir, Boot: "boot" + w.bootID, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.Fatal(err)
	}
	w.node = node.New(node.Config{
		Host: spec.Host{ID: hostID, Name: "host", Cluster: spec.DefaultCluster, Allow: w.allow, UserNamespaces: w.userns, Volumes: w.gives()}, Control: w.control, Images: w.runtime,
		Containers: w.runtime, Execer: w.runtime, Network: w.network, GPUs: w.gpus, GPUHealth: health, GPUUsage: gpuusage.New(slog.New(slog.DiscardHandler)), Sharer: w.sharer, Partitions: w.partitions, Logs: emptyLogs{}, Hooks: w.hooks, Dir: w.dir, MaxStopTimeout: w.maxStopTimeout, Volumes: w.volumes, Log: slog.New(slog.DiscardHandler),
		Boot: machine.BootClock{ID: "boot" + w.bootID, Since: func() time.Duration { return time.Since(w.booted) }},
	})
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.node.Run(ctx); err != nil {
			w.Errorf("the agent ended with %v", err)
		}
	}()
	w.crash = func() { cancel(); <-done; w.crash = func() {} }
	w.waitIdle()
}

func (w *simHost) waitIdle() { synctest.Wait() }

// advance lets simulated time go by.
func (w *simHost) advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *simHost) want(what string, got, want any) {
	w.Helper()
	if got != want {
		w.Errorf("%s is %v, want %v", what, got, want)
	}
}

func (w *simHost) wantRunning(ids ...string) {
	w.Helper()
	if got := w.machine.Running(); !slices.Equal(got, ids) {
		w.Errorf("running are %v, want %v", got, ids)
	}
}

// wantNothingLeft checks that no trace of any task is on the host.
func (w *simHost) wantNothingLeft() {
	w.Helper()
	if ids := w.machine.All(); len(ids) > 0 {
		w.Errorf("containers are left: %v", ids)
	}
	if ids := w.network.Attached(); len(ids) > 0 {
		w.Errorf("attachments are left: %v", ids)
	}
	if dirs := w.taskDirs(); len(dirs) > 0 {
		w.Errorf("directories are left: %v", dirs)
	}
}

// emptyLogs keeps nothing.
type emptyLogs struct{}

func (emptyLogs) Read(ctx context.Context, q spec.LogQuery, done <-chan struct{}, _ func(spec.LogLine) error) error {
	if q.Follow {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// fakeGPUs is a gpu.Source of devices in memory.
type fakeGPUs struct {
	mu           sync.Mutex
	devices      []gpu.Device
	users        map[string][]int
	shares       bool // containers are kept to their shares
	processCalls int  // how often Processes was asked
	faults       []gpu.Fault
	wrong        map[string]error     // by UUID: what a check finds
	checks       int                  // how many were made
	duringCheck  func()               // what happens during the next one, if anything
	usage        map[string]gpu.Usage // by UUID
	usageErr     error
	hangs        bool // an inventory is not answered
	err          error
	changed      chan struct{}
}

func newFakeGPUs(uuids ...string) *fakeGPUs {
	g := &fakeGPUs{users: map[string][]int{}, wrong: map[string]error{}, usage: map[string]gpu.Usage{}, changed: make(chan struct{}, 1)}
	for i, uuid := range uuids {
		g.devices = append(g.devices, gpu.Device{UUID: uuid, Index: i, Minor: i, MemoryMiB: 100_000, Health: gpu.Healthy})
	}
	return g
}

// setProcesses sets which processes have the device open.
func (g *fakeGPUs) setProcesses(uuid string, pids ...int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.users[uuid] = pids
}

// set sets what an inventory finds, and returns what it found before.
func (g *fakeGPUs) set(devices []gpu.Device, err error) (before []gpu.Device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before, g.devices, g.err = g.devices, devices, err
	return before
}

// removeDevice takes the device off the bus: nothing can be told of it any more.
func (g *fakeGPUs) removeDevice(uuid string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.devices = slices.DeleteFunc(g.devices, func(d gpu.Device) bool { return d.UUID == uuid })
	g.changed <- struct{}{}
}

// setUsage sets how a device is used from now on: for so many percent of the time, with so many watts. Below 0 nobody knows.
func (g *fakeGPUs) setUsage(uuid string, percent, watts float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.usage, uuid)
	if memory := 1000 * percent; percent >= 0 {
		g.usage[uuid] = gpu.Usage{UUID: uuid, Utilization: &percent, PowerWatts: &watts, MemoryUsedMiB: &memory}
	}
}

// setSlowdown has a device that is used slow itself down for the reason from now on; "": it does not.
func (g *fakeGPUs) setSlowdown(uuid string, reason gpu.Slowdown) {
	g.mu.Lock()
	defer g.mu.Unlock()
	usage := g.usage[uuid]
	usage.Slowdown = reason
	g.usage[uuid] = usage
}

// failUsage has the driver not tell how its GPUs are used; nil: it does again.
func (g *fakeGPUs) failUsage(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.usageErr = err
}

func (g *fakeGPUs) Usage(context.Context) ([]gpu.Usage, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.usage)), cmp.Or(g.err, g.usageErr)
}

// fault has the driver tell of an error.
func (g *fakeGPUs) fault(uuid string, xid uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, gpu.Fault{UUID: uuid, Xid: xid})
	g.changed <- struct{}{}
}

func (g *fakeGPUs) Faults() (faults []gpu.Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	faults, g.faults = g.faults, nil
	return faults
}

// setWrong sets what a check of the device finds.
func (g *fakeGPUs) setWrong(uuid string, found error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrong[uuid] = found
}

func (g *fakeGPUs) Check(_ context.Context, uuid string, _ bool) error {
	g.mu.Lock()
	during := g.duringCheck
	g.duringCheck = nil
	g.checks++
	g.mu.Unlock()
	if during != nil {
		during()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wrong[uuid]
}

// hang has the driver answer no inventory, or answer again.
func (g *fakeGPUs) hang(hangs bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hangs = hangs
}

func (g *fakeGPUs) Inventory(ctx context.Context) (gpu.Inventory, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hangs {
		g.mu.Unlock()
		<-ctx.Done()
		g.mu.Lock()
		return gpu.Inventory{}, ctx.Err()
	}
	inventory := gpu.Inventory{Devices: slices.Clone(g.devices)}
	if g.shares {
		inventory.VRAMEnforcement = gpu.EnforcedByMPS
	}
	return inventory, g.err
}

func (g *fakeGPUs) Changed() <-chan struct{} { return g.changed }

func (g *fakeGPUs) CDI(context.Context) (string, []byte, error) { return "nvidia.com/gpu", nil, nil }

func (g *fakeGPUs) Processes(_ context.Context, uuid string) ([]int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processCalls++
	if !slices.ContainsFunc(g.devices, func(d gpu.Device) bool { return d.UUID == uuid }) {
		return nil, spec.ErrNotFound
	}
	return g.users[uuid], nil
}

func (g *fakeGPUs) Close() error { return nil }
