package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memNode is a Node without Raft: it applies what is proposed to a state in memory.
type memNode struct {
	state *raftfsm.State
	mu    sync.Mutex
	index uint64
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (n *memNode) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.index++
	return n.state.Apply(n.index, c)
}

func (n *memNode) entries() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.index
}

func (n *memNode) State() *raftfsm.State             { return n.state }
func (n *memNode) CheckLeader(context.Context) error { return nil }
func (n *memNode) CheckWritable() error              { return nil }
func (n *memNode) Now() time.Time                    { return epoch } // it stands, so no host falls silent

// testScheduler is a scheduler on a pool of one host, in a leader term that lasts as long as the test.
type testScheduler struct {
	*Scheduler
	testing.TB
	node *memNode
}

func newTestScheduler(t testing.TB, gpus int) *testScheduler {
	s := &testScheduler{TB: t, node: &memNode{state: raftfsm.NewState()}}
	s.Scheduler = New(s.node, HostFacts{Schedulable: func(string) bool { return true }, Images: func(string) *blob.Images { return nil }}, slog.New(slog.DiscardHandler))
	s.apply(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	host := spec.Host{ID: "h", Name: "h", Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: 1 << 20, MemoryMiB: 1 << 20}
	for i := range gpus {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: fmt.Sprintf("GPU-%d", i), Index: i, Health: gpu.Healthy})
	}
	s.apply(raftfsm.PutHost{Host: host})
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, loop := range s.StartTerm(ctx) {
		loops.Go(loop)
	}
	t.Cleanup(func() {
		cancel()
		loops.Wait()
	})
	return s
}

func (s *testScheduler) apply(c raftfsm.Command) any {
	s.Helper()
	answer, err := s.node.Propose(s.Context(), c)
	if err != nil {
		s.Fatalf("%T: %v", c, err)
	}
	return answer
}

// request asks for one task of a new definition with so many GPUs.
func (s *testScheduler) request(gpus int) spec.RunRequest {
	s.Helper()
	c := spec.ContainerDefinition{Name: "main", Image: "pinion/self", CPU: 1, Memory: 1}
	if gpus > 0 {
		c.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: fmt.Sprint(gpus)}}
	}
	definition := spec.TaskDefinition{Family: "work", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{c}}
	name := s.apply(raftfsm.RegisterDefinition{Definition: definition}).(*spec.TaskDefinition).Name()
	return spec.RunRequest{Cluster: spec.DefaultCluster, Definition: name, Count: 1}
}

// queued asks for a task that waits in the queue.
func queued(r spec.RunRequest) spec.RunRequest {
	r.CapacityProvider = spec.BuiltinCapacityProvider
	return r
}

func (s *testScheduler) run(r spec.RunRequest) spec.RunResult {
	s.Helper()
	result, err := s.Run(s.Context(), r)
	if err != nil {
		s.Fatal(err)
	}
	return result
}

func (s *testScheduler) planner() *planner { return s.term.Load().planner }

// planOne plans a request, and records nothing of it.
func (s *testScheduler) planOne(r spec.RunRequest) *planPass {
	return s.plan(s.term.Load(), []*batchedRun{{request: r}})
}
