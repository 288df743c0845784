package fake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

var (
	_ runtime.Images     = (*Runtime)(nil)
	_ runtime.Containers = (*Runtime)(nil)
)

// ErrDown is the error of a runtime that is down.
var ErrDown = errors.New("the container runtime is down")

// Runtime is one agent's connection to a machine. Its own memory (pulls under way) is lost with it; the containers are
// the machine's.
type Runtime struct {
	machine *Machine

	mu     sync.Mutex
	down   bool
	images map[string]error         // ref -> why it cannot be pulled; nil: it can
	gates  map[string]chan struct{} // image ref or container id -> its pulls or start wait until closed
	pulls  map[string]int
	tags   map[string]string // digests of tags that were moved
	specs  map[string]runtime.ContainerSpec
	kept   [][]string // what each Prune was to keep
}

// Open connects an agent to the machine. Every image can be pulled unless told otherwise.
func (m *Machine) Open() *Runtime {
	return &Runtime{machine: m, images: map[string]error{}, gates: map[string]chan struct{}{}, pulls: map[string]int{}, tags: map[string]string{}, specs: map[string]runtime.ContainerSpec{}}
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

// PullCount counts the pulls of the image.
func (r *Runtime) PullCount(ref string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pulls[ref]
}

// Spec is the specification of the container's last start.
func (r *Runtime) Spec(id string) runtime.ContainerSpec {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.specs[id]
}

// Pull implements runtime.Images.
func (r *Runtime) Pull(ctx context.Context, ref string, progress func(spec.Pull)) (runtime.Image, error) {
	if err := r.checkUp(); err != nil {
		return runtime.Image{}, err
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
			return runtime.Image{}, ctx.Err()
		}
	}
	if failure != nil {
		return runtime.Image{}, fmt.Errorf("pull %s: %w", ref, failure)
	}
	if _, digest, pinned := strings.Cut(ref, "@"); pinned {
		return runtime.Image{Ref: ref, Digest: digest}, nil
	}
	return runtime.Image{Ref: ref, Digest: r.digestOf(ref)}, nil
}

// MoveTag gives a tag another digest.
func (r *Runtime) MoveTag(ref, digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tags[ref] = digest
}

func (r *Runtime) digestOf(ref string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.tags[ref], "sha256:"+fmt.Sprintf("%064x", len(ref)))
}

// Prune implements runtime.Images: there is always room.
func (r *Runtime) Prune(_ context.Context, keep []string) error {
	if err := r.checkUp(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, keep)
	return nil
}

// Kept are the images that each Prune so far was to keep.
func (r *Runtime) Kept() [][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.kept)
}

// Start implements runtime.Containers.
func (r *Runtime) Start(ctx context.Context, c runtime.ContainerSpec) error {
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

// Wait implements runtime.Containers.
func (r *Runtime) Wait(ctx context.Context, id string) (runtime.Exit, error) {
	if err := r.checkUp(); err != nil {
		return runtime.Exit{}, err
	}
	return r.machine.wait(ctx, id)
}

// Kill implements runtime.Containers.
func (r *Runtime) Kill(_ context.Context, id string, sig syscall.Signal) error {
	if err := r.checkUp(); err != nil {
		return err
	}
	return r.machine.kill(id, sig)
}

// List implements runtime.Containers.
func (r *Runtime) List(context.Context) ([]runtime.ExistingContainer, error) {
	if err := r.checkUp(); err != nil {
		return nil, err
	}
	return r.machine.list(), nil
}

// Remove implements runtime.Containers.
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
