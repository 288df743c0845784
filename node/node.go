package node

import (
	"context"
	"fmt"
	"os"
	"sync"

	"pinion/raftfsm/spec"
)

// Node is the agent of one host.
type Node struct {
	config   Config
	gpuLock  *gpuLock
	reporter *reporter
	joined   chan struct{} // closed when the cluster knows this host
	rejoinCh chan struct{} // holds a value when the cluster has to be told again who this host is

	mu           sync.Mutex // guards what follows
	host         spec.Host
	runners      map[string]*runner             // by task id; a task's runner stays until its assignment has gone
	existing     map[string][]ExistingContainer // by task id: what was there at start and has no runner yet
	runnersAdded chan struct{}                  // closed and replaced when runners were added
	reportedCh   chan struct{}                  // closed and replaced when the cluster has taken what runs here
	runnerGroup  sync.WaitGroup
}

// New makes an agent; Run starts it.
func New(c Config) *Node {
	n := &Node{
		config: c, host: c.Host, gpuLock: newGPULock(c.GPUs, c.Log), joined: make(chan struct{}), rejoinCh: make(chan struct{}, 1),
		runners: map[string]*runner{}, existing: map[string][]ExistingContainer{}, runnersAdded: make(chan struct{}), reportedCh: make(chan struct{}),
	}
	n.reporter = newReporter(c.Log, n.sendReports)
	return n
}

// Run is the agent's life: look what is here, tell the cluster, and only then take work. It is called once. It
// returns nil when ctx ends and everything it started has come to rest; containers run on. An error means that the
// host cannot run containers at all.
func (n *Node) Run(ctx context.Context) error {
	if err := os.MkdirAll(tasksRoot(n.config.Dir), 0o700); err != nil {
		return fmt.Errorf("directory for tasks: %w", err)
	}
	if n.listExisting(ctx) != nil || n.refreshInventory(ctx) != nil || n.join(ctx) != nil {
		return nil
	}
	close(n.joined)
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context){n.reporter.run, n.heartbeatLoop, n.watchGPUs, n.watchAssignments} {
		loops.Go(func() { loop(ctx) })
	}
	loops.Wait()
	n.runnerGroup.Wait()
	return nil
}

// Joined is closed when the cluster knows this host: from then on it is given work.
func (n *Node) Joined() <-chan struct{} { return n.joined }

// listExisting finds the containers that a previous run of the agent left running, and what they hold.
func (n *Node) listExisting(ctx context.Context) error {
	var all []ExistingContainer
	err := retry(ctx, n.config.Log, "list containers", func(ctx context.Context) (err error) {
		all, err = n.config.Containers.List(ctx)
		return err
	})
	if err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range all {
		n.existing[f.TaskID] = append(n.existing[f.TaskID], f)
		n.gpuLock.claim(f.TaskID, f.GPUs)
	}
	if len(all) > 0 {
		n.config.Log.Info("containers were found on this host", "containers", len(all), "tasks", len(n.existing))
	}
	n.config.Log.Debug("agent: what runs here is not reported", "tasks", len(n.existing))
	return nil
}

// Pulls tells how far the image pulls of a task have come; empty when none is under way.
func (n *Node) Pulls(taskID string) []spec.Pull {
	if r := n.runner(taskID); r != nil {
		return r.pullProgress()
	}
	return nil
}

func (n *Node) runner(taskID string) *runner {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runners[taskID]
}
