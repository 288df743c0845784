package fake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"pinion/node"
	"pinion/raftfsm/spec"
)

var (
	_ node.Images     = (*Runtime)(nil)
	_ node.Containers = (*Runtime)(nil)
)

// ErrDown is what a runtime answers while it is down.
var ErrDown = errors.New("the container runtime is down")

// Runtime is one Pinion's door to a machine. What it remembers itself (nothing but images on their way) is lost with
// it; the containers are the machine's.
type Runtime struct {
	machine *Machine

	mu     sync.Mutex
	down   bool
	images map[string]error         // ref -> why it cannot be pulled; nil: it can
	gates  map[string]chan struct{} // image ref or container id -> its pulls or start wait until closed
	pulls  map[string]int
	specs  map[string]node.ContainerSpec
}

// Open gives a Pinion its door. Every image can be pulled unless told otherwise.
func (m *Machine) Open() *Runtime {
	return &Runtime{machine: m, images: map[string]error{}, gates: map[string]chan struct{}{}, pulls: map[string]int{}, specs: map[string]node.ContainerSpec{}}
}

// SetDown makes every call fail with ErrDown, as a runtime that crashed; waiting calls go on waiting.
func (r *Runtime) SetDown(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

// FailPull makes pulls of the image fail.
func (r *Runtime) FailPull(ref string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.images[ref] = err
}

// HoldPull makes pulls of the image report half their bytes and then wait until the answer is called.
func (r *Runtime) HoldPull(ref string) (letGo func()) {
	gate := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gates[ref] = gate
	return func() { close(gate) }
}

// HoldStart makes the start of the container wait until the answer is called.
func (r *Runtime) HoldStart(id string) (letGo func()) {
	gate := make(chan struct{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gates[id] = gate
	return func() { close(gate) }
}

// PullCount is how often the image was pulled.
func (r *Runtime) PullCount(ref string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pulls[ref]
}

// Spec is what the container was last started with.
func (r *Runtime) Spec(id string) node.ContainerSpec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.specs[id]
}

// Pull implements node.Images.
func (r *Runtime) Pull(ctx context.Context, ref string, progress func(spec.Pull)) (node.Image, error) {
	if err := r.checkUp(); err != nil {
		return node.Image{}, err
	}
	r.mu.Lock()
	r.pulls[ref]++
	gate, failure := r.gates[ref], r.images[ref]
	r.mu.Unlock()
	if gate != nil {
		progress(spec.Pull{Image: ref, Done: 50, Total: 100})
		select {
		case <-gate:
		case <-ctx.Done():
			return node.Image{}, ctx.Err()
		}
	}
	if failure != nil {
		return node.Image{}, fmt.Errorf("pull %s: %w", ref, failure)
	}
	return node.Image{Ref: ref, Digest: "sha256:" + fmt.Sprintf("%064x", len(ref))}, nil
}

// Start implements node.Containers.
func (r *Runtime) Start(ctx context.Context, c node.ContainerSpec) error {
	if err := r.checkUp(); err != nil {
		return err
	}
	r.mu.Lock()
	r.specs[c.ID] = c
	gate := r.gates[c.ID]
	r.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return r.machine.start(c)
}

// Wait implements node.Containers.
func (r *Runtime) Wait(ctx context.Context, id string) (node.Exit, error) {
	if err := r.checkUp(); err != nil {
		return node.Exit{}, err
	}
	return r.machine.wait(ctx, id)
}

// Kill implements node.Containers.
func (r *Runtime) Kill(_ context.Context, id string, sig syscall.Signal) error {
	if err := r.checkUp(); err != nil {
		return err
	}
	return r.machine.kill(id, sig)
}

// List implements node.Containers.
func (r *Runtime) List(context.Context) ([]node.ExistingContainer, error) {
	if err := r.checkUp(); err != nil {
		return nil, err
	}
	return r.machine.list(), nil
}

// Remove implements node.Containers.
func (r *Runtime) Remove(_ context.Context, id string) error {
	if err := r.checkUp(); err != nil {
		return err
	}
	r.machine.remove(id)
	return nil
}

func (r *Runtime) checkUp() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down {
		return ErrDown
	}
	return nil
}
