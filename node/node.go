package node

import (
	"context"
	"fmt"
	"os"
	"sync"

	"pinion/node/gpulock"
	"pinion/node/machine"
	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/packaging/backoff"
	"pinion/raftfsm/spec"
)

// Node is the agent of one host.
type Node struct {
	config   Config
	tasks    task.Config
	gpuLocks *gpulock.Locks
	GPUs     *GPUs
	reporter *reporter
	Routes   *Routes       // what Config.Proxy tells of
	joined   chan struct{} // closed when the pool knows this host
	rejoin   rejoin
	Assigned chan struct{} // closed when the first assignments have their runners, and these their hooks

	mu           sync.Mutex // guards what follows
	host         spec.Host
	runners      map[string]*runningTask                // by task id; stays until the assignment has gone
	existing     map[string][]runtime.ExistingContainer // by task id: found at start, without a runner yet
	runnersAdded chan struct{}                          // closed and replaced when runners were added
	reportedCh   chan struct{}                          // closed and replaced when the pool has recorded a join
	runnerGroup  sync.WaitGroup
}

// runningTask is a runner and whether its Run has returned.
type runningTask struct {
	*task.Runner
	finished bool
}

// New makes an agent; Run starts it.
func New(c Config) *Node {
	if c.Boot.Since == nil {
		c.Boot = machine.Boot()
	}
	n := &Node{
		config: c, host: c.Host, gpuLocks: gpulock.New(c.GPUs, c.Log), joined: make(chan struct{}), rejoin: rejoin{requested: make(chan struct{}, 1)},
		Assigned: make(chan struct{}),
		runners:  map[string]*runningTask{}, existing: map[string][]runtime.ExistingContainer{},
		runnersAdded: make(chan struct{}), reportedCh: make(chan struct{}),
	}
	n.GPUs = &GPUs{source: c.GPUs, record: c.GPUHealth, usage: c.GPUUsage, locks: n.gpuLocks, log: c.Log, rejoin: n.rejoin.request, count: n.countGPUUsage, recordedCh: make(chan struct{}),
		partitions: c.Partitions, hostID: c.Host.ID, failedPartitions: map[string]failedPartition{}}
	c.Volumes.OnShared(n.rejoin.request)
	n.Routes = newRoutes(n)
	n.reporter = newReporter(c.Log, n.sendReports)
	n.tasks = task.Config{
		Images: c.Images, Containers: c.Containers, Execer: c.Execer, Network: c.Network, GPULocks: n.gpuLocks, Sharer: c.Sharer, GPUHealth: gpuHealth{c.GPUHealth, n.GPUs, func() []*runningTask { return runningTasks(n) }},
		Reporter: n.reporter, Host: n.currentHost, Volumes: c.Volumes, MaxStopTimeout: c.MaxStopTimeout, DrainDelay: n.Routes.drainDelay, Dir: c.Dir, Log: c.Log, Boot: c.Boot, Hooks: c.Hooks, Resolver: c.Resolver,
	}
	return n
}

// Run is the agent's life: list the existing containers, join the pool, and only then take work. It is called once. It
// returns nil when ctx ends and everything it started has come to rest; containers run on. An error means that the
// host cannot run containers at all.
func (n *Node) Run(ctx context.Context) error {
	if err := os.MkdirAll(task.Dirs(n.config.Dir), 0o700); err != nil {
		return fmt.Errorf("directory for tasks: %w", err)
	}
	if n.listExisting(ctx) != nil || endOldSharing(ctx, n.config, n.gpuLocks) != nil || n.GPUs.read(ctx) != nil {
		return nil
	}
	n.GPUs.mark()
	if n.join(ctx) != nil {
		return nil
	}
	close(n.joined)
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context){n.reporter.run, n.heartbeatLoop, n.rejoinLoop, n.GPUs.watch, n.GPUs.checkSick, n.GPUs.sample, n.GPUs.partitionLoop, n.watchAssignments, n.Routes.watch, n.pruneImages, NewVolumes(n).sweep} {
		loops.Go(func() { loop(ctx) })
	}
	loops.Wait()
	n.runnerGroup.Wait()
	return nil
}

// Joined is closed when the pool knows this host: from then on it is given work.
func (n *Node) Joined() <-chan struct{} { return n.joined }

// listExisting finds the containers that a previous run of the agent left, and the GPUs that they hold.
func (n *Node) listExisting(ctx context.Context) error {
	var all []runtime.ExistingContainer
	err := backoff.Retry(ctx, n.config.Log, "list containers", func(ctx context.Context) (err error) {
		all, err = n.config.Containers.List(ctx)
		return err
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range all {
		n.existing[c.TaskID] = append(n.existing[c.TaskID], c)
		n.gpuLocks.Claim(c.TaskID, c.GPUs, c.Shared)
	}
	if len(all) > 0 {
		n.config.Log.Info("containers were found on this host", "containers", len(all), "tasks", len(n.existing))
	}
	n.config.Log.Debug("agent: what runs here is not reported", "tasks", len(n.existing))
	return nil
}

// Pulls is the progress of a task's image pulls; empty when none is under way.
func (n *Node) Pulls(taskID string) []spec.Pull {
	if r := n.runner(taskID); r != nil {
		return r.PullProgress()
	}
	return nil
}

// Containers are the containers of all tasks of this host, whether they run yet or not.
func Containers(n *Node) (all []*task.Container) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.runners {
		all = append(all, task.ContainersOf(r.Runner)...)
	}
	return all
}

// runner is the runner of a task; nil when the host has none.
func (n *Node) runner(taskID string) *task.Runner {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.runners[taskID]; r != nil {
		return r.Runner
	}
	return nil
}
