package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/consensus"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("PINION_TEST_WRITER"); dir != "" {
		writeUntilKilled(dir)
		return
	}
	// hashicorp/raft does not answer what it has handed to its state machine when it is shut down, as tests do in the middle of requests.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/hashicorp/raft.(*deferError).Error"))
}

const hostID = "0123456789abcdef0123456789abcdef"

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// config is a server that takes little disk.
func config(dir string) Config {
	return Config{Config: consensus.Config{Dir: dir, HostID: hostID, Address: "127.0.0.1:7400", Log: quiet(), MinFree: 1, Reserve: 1 << 20, Watermark: dir + ".watermark"}}
}

// start opens a server that is closed when the test ends.
func start(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t testing.TB, s *Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// apply records a command and fails the test when it is refused.
func apply(t testing.TB, s *Server, c raftfsm.Command) any {
	t.Helper()
	answer, err := whileNotLeading(t, func() (any, error) { return s.Propose(t.Context(), c) })
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	return answer
}

// whileNotLeading repeats what the server refuses because it does not lead: nothing was recorded. A leader whose process stood still for
// longer than its followers wait, as on a busy machine, refuses for a moment.
func whileNotLeading[T any](t testing.TB, do func() (T, error)) (T, error) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // reached only on a failure
	defer cancel()
	for {
		answer, err := do()
		if !errors.Is(err, spec.ErrNotLeader) {
			return answer, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return answer, err
		}
	}
}

func view(t testing.TB, s *Server) *raftfsm.View {
	t.Helper()
	v, err := whileNotLeading(t, func() (*raftfsm.View, error) { return s.View(t.Context()) })
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// joinWith makes the host of the test known with so many GPUs.
func joinWith(t testing.TB, s *Server, gpus int) {
	t.Helper()
	host := spec.Host{ID: hostID, Name: "one", Cluster: spec.DefaultCluster, Address: "127.0.0.1:7400", CPU: 1 << 20, MemoryMiB: 1 << 20}
	for i := range gpus {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: fmt.Sprintf("GPU-%d", i), Index: i, Health: gpu.Healthy})
	}
	if _, err := s.agents.Join(t.Context(), host, nil); err != nil {
		t.Fatal(err)
	}
}

// define registers a task definition of one container with so many GPUs and returns its name.
func define(t testing.TB, s *Server, gpus int) string {
	t.Helper()
	c := spec.ContainerDefinition{Name: "main", Image: "pinion/self", CPU: 1, Memory: 1}
	if gpus > 0 {
		c.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: fmt.Sprint(gpus)}}
	}
	definition := spec.TaskDefinition{Family: "work", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{c}}
	return apply(t, s, raftfsm.RegisterDefinition{Definition: definition}).(*spec.TaskDefinition).Name()
}

func runOf(definition string) spec.RunRequest {
	return spec.RunRequest{Cluster: spec.DefaultCluster, Definition: definition, Count: 1}
}

func run(ctx context.Context, t testing.TB, s *Server, r spec.RunRequest) spec.RunResult {
	t.Helper()
	result, err := s.scheduler.Run(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// clock is a time that tests move.
type clock struct{ passed atomic.Int64 }

var day0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (c *clock) now() time.Time       { return day0.Add(time.Duration(c.passed.Load())) }
func (c *clock) pass(d time.Duration) { c.passed.Add(int64(d)) }
