package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// Every test begins at this moment, with this key.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

const (
	keyID  = "AKIAABCDEFGHIJKLMNOP"
	secret = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	hostID = "aaaa0000000000000000000000000001"
)

// fakeStore is a state without Raft, with a scheduler that takes the first host that fits.
type fakeStore struct {
	mu           sync.Mutex
	state        *raftfsm.State
	index        uint64
	placed       int
	disconnected map[string]bool       // hosts that have not been heard of
	viewErr      error                 // what View and Apply answer while set
	queueFull    bool                  // no more tasks can wait
	infeasible   *spec.Failure         // why no host could ever run what is to wait
	proposed     func(context.Context) // is told of each change, with the context of its request
	asked        spec.RunRequest       // the last run
}

var _ Store = (*fakeStore)(nil)

// newFakeStore has the default cluster, the key, and one host with four GPUs, 4 cores and 8 GiB.
func newFakeStore(t testing.TB) *fakeStore {
	c := &fakeStore{state: raftfsm.NewState(), disconnected: map[string]bool{}}
	c.mustApply(t, raftfsm.CreatePool{Pool: spec.Pool{ID: strings.Repeat("f", 32), CreatedAt: epoch}})
	c.mustApply(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: keyID, Secret: secret, Role: "admin", CreatedAt: epoch}}))
	c.mustApply(t, raftfsm.PutHost{Host: newHost(hostID, "gpu-1", 4)})
	return c
}

func newHost(id, name string, gpus int) spec.Host {
	host := spec.Host{
		ID: id, Name: name, Cluster: spec.DefaultCluster, Address: name + ":7400", Version: "1.2.3", Build: "0a1b2c3d", Runtime: "containerd 2.4.2", Status: spec.HostActive,
		Attributes: map[string]string{"ecs.cpu-architecture": "x86_64", "ecs.availability-zone": "rack-1"},
		CPU:        4096, MemoryMiB: 16384, Ports: []int{22, 7400}, RegisteredAt: epoch,
	}
	for i := range gpus {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{
			UUID: fmt.Sprintf("GPU-%s-%d", name, i), Index: i, Minor: i, Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 81559, Health: gpu.Healthy,
		})
	}
	return host
}

func (c *fakeStore) View(context.Context) (*raftfsm.View, error) {
	if c.viewErr != nil {
		return nil, c.viewErr
	}
	return c.state.View(), nil
}

func (c *fakeStore) Propose(ctx context.Context, command raftfsm.Command) (any, error) {
	if c.proposed != nil {
		c.proposed(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.apply(command)
}

func (c *fakeStore) apply(command raftfsm.Command) (any, error) {
	c.index++
	entry, err := raftfsm.Encode(command) // as through Raft: what does not survive that is not stored
	if err != nil {
		return nil, err
	}
	decoded, err := raftfsm.Decode(entry)
	if err != nil {
		return nil, err
	}
	return c.state.ApplyAt(c.index, epoch, decoded)
}

func (c *fakeStore) mustApply(t testing.TB, command raftfsm.Command) any {
	t.Helper()
	answer, err := c.Propose(t.Context(), command)
	if err != nil {
		t.Fatalf("%T: %v", command, err)
	}
	return answer
}

func (c *fakeStore) Connected(id string) bool { return !c.disconnected[id] }

func (c *fakeStore) Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	if c.proposed != nil {
		c.proposed(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = r
	view := c.state.View()
	hosts := view.Hosts(r.Cluster)
	launch := raftfsm.Launch{Cluster: r.Cluster, Token: r.ClientToken, TokenHash: r.RequestHash, At: epoch}
	if r.CapacityProvider != "" && c.queueFull {
		return spec.RunResult{}, spec.ErrQueueFull
	}
	if r.CapacityProvider != "" {
		c.enqueue(view, r, &launch)
		result, err := c.launch(launch)
		result.Infeasible = c.infeasible
		return result, err
	}
	if len(hosts) == 0 {
		return spec.RunResult{}, fmt.Errorf("cluster %s: %w", r.Cluster, spec.ErrNoHosts)
	}
	free := map[string]*spec.Free{}
	for _, host := range hosts {
		left := view.Free(host.ID)
		free[host.ID] = &left
	}
	for i := range max(r.Count, len(r.Hosts)) {
		candidates := hosts
		if len(r.Hosts) > 0 {
			candidates = slices.DeleteFunc([]*spec.Host{view.Host(r.Hosts[i])}, func(h *spec.Host) bool { return h == nil })
			if len(candidates) == 0 {
				launch.Failures = append(launch.Failures, spec.Failure{HostID: r.Hosts[i], Reason: spec.ReasonMissing})
			}
		}
		c.place(view, r, candidates, free, &launch)
	}
	return c.launch(launch)
}

func (c *fakeStore) launch(launch raftfsm.Launch) (spec.RunResult, error) {
	answer, err := c.apply(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{launch}})
	if err != nil {
		return spec.RunResult{}, err
	}
	result := answer.([]raftfsm.LaunchResult)[0]
	return result.Result, result.Err
}

// enqueue adds to the launch the tasks of a run that wait for their places.
func (c *fakeStore) enqueue(view *raftfsm.View, r spec.RunRequest, launch *raftfsm.Launch) {
	for i := range r.Count {
		c.placed++
		task := &spec.Task{
			ID: fmt.Sprintf("%032x", c.placed), Cluster: r.Cluster, Definition: r.Definition, Group: r.Group, LaunchType: r.LaunchType,
			CapacityProvider: r.CapacityProvider, LastStatus: spec.Provisioning, DesiredStatus: spec.Running, Tags: r.Tags, Version: 1, CreatedAt: epoch, Owner: ownerOf(r), Exec: r.Exec,
		}
		if r.ArrayFrom != nil {
			index := *r.ArrayFrom + i
			task.ArrayIndex = &index
		}
		for _, container := range view.Definition(r.Definition).Containers {
			task.Containers = append(task.Containers, spec.Container{
				ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", i, c.placed), Name: container.Name, Image: container.Image, LastStatus: spec.Provisioning,
			})
		}
		launch.Tasks = append(launch.Tasks, task)
	}
}

// place adds to the launch one task on the first of the hosts that has room, or each host's refusal.
func (c *fakeStore) place(view *raftfsm.View, r spec.RunRequest, hosts []*spec.Host, free map[string]*spec.Free, launch *raftfsm.Launch) {
	definition := spec.Effective(view.Definition(r.Definition), r.Overrides)
	demand := spec.DemandOf(definition)
	var refused []spec.Failure
	for _, host := range hosts {
		if lack, fits := spec.Fits(free[host.ID], &demand); !fits {
			refused = append(refused, spec.Failure{HostID: host.ID, Reason: lack.Reason, Detail: lack.Detail()})
			continue
		}
		if failure := unmet(view, host, definition, r); failure.Reason != "" {
			refused = append(refused, failure)
			continue
		}
		c.placed++
		task := &spec.Task{
			ID: fmt.Sprintf("%032x", c.placed), Cluster: r.Cluster, Definition: r.Definition, HostID: host.ID, Group: r.Group,
			StartedBy: r.StartedBy, LaunchType: r.LaunchType, Overrides: spec.Box(r.Overrides), CPU: demand.CPU, MemoryMiB: demand.MemoryMiB,
			Ports: demand.Ports, UDPPorts: demand.UDPPorts, LastStatus: spec.Pending, DesiredStatus: spec.Running, Tags: r.Tags, Version: 1, CreatedAt: epoch, Owner: ownerOf(r), Exec: r.Exec,
		}
		left := free[host.ID].GPUs
		for i, container := range definition.Containers {
			task.Containers = append(task.Containers, spec.Container{
				ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", i, c.placed), Name: container.Name, Image: container.Image,
				GPUs: left[:demand.GPUs[i]], LastStatus: spec.Pending,
			})
			left = left[demand.GPUs[i]:]
			placeShare(&task.Containers[i], container, free[host.ID], demand.ShareMiB())
		}
		free[host.ID].Take(task)
		launch.Tasks = append(launch.Tasks, task)
		return
	}
	launch.Failures = append(launch.Failures, refused...)
}

// placeShare gives a container the share that it asks for, of the first GPU that has as much for the whole task.
func placeShare(placed *spec.Container, asks spec.ContainerDefinition, free *spec.Free, mib int64) {
	for _, a := range free.Allocations() {
		if a.Shares(mib, 1) > 0 && placed.Share == nil && asks.Sharing() != nil {
			placed.GPUs, placed.Share = []string{a.UUID}, asks.ShareOf(a.TotalMiB)
		}
	}
}

// reportRunning has the host of the task report it RUNNING.
func (c *fakeStore) reportRunning(t testing.TB, taskID string) {
	t.Helper()
	c.report(t, taskID, spec.TaskReport{Status: spec.Running, Times: spec.TaskTimes{PullStarted: epoch.Add(time.Second), PullStopped: epoch.Add(2 * time.Second), Started: epoch.Add(3 * time.Second)}},
		spec.ContainerReport{Status: spec.Running, RuntimeID: "pinion-1", ImageDigest: "sha256:" + strings.Repeat("0", 64)})
}

// reportExited has the host of the task report that its container exited by itself.
func (c *fakeStore) reportExited(t testing.TB, taskID string, code int) {
	t.Helper()
	times := spec.TaskTimes{Stopping: epoch.Add(4 * time.Second), ExecutionStopped: epoch.Add(5 * time.Second), Stopped: epoch.Add(6 * time.Second)}
	c.report(t, taskID, spec.TaskReport{Status: spec.Stopped, StopCode: spec.StopEssentialExited, StoppedReason: "Essential container in task exited", Times: times},
		spec.ContainerReport{Status: spec.Stopped, ExitCode: &code})
}

// report completes a report for a task of one container.
func (c *fakeStore) report(t testing.TB, taskID string, r spec.TaskReport, container spec.ContainerReport) {
	t.Helper()
	task := c.state.View().Task(taskID)
	container.Name = task.Containers[0].Name
	r.TaskID, r.Containers = taskID, []spec.ContainerReport{container}
	c.mustApply(t, raftfsm.ReportTasks{HostID: task.HostID, Reports: []spec.TaskReport{r}})
}

// ownerOf is the access key that a run is for.
func ownerOf(r spec.RunRequest) *spec.TaskOwner {
	if r.Key == "" {
		return nil
	}
	return &spec.TaskOwner{Key: r.Key}
}
