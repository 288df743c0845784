// Package fake stands in for the containers, images and network of a host in tests. A Machine is what outlives
// Pinion: its containers run on while one Runtime after another is opened on it, as Pinion is killed and started.
package fake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"pinion/node/runtime"
)

// Machine is a host with containers in memory. It is safe for concurrent use.
type Machine struct {
	mu         sync.Mutex
	containers map[string]*container
	starts     map[string]int
	nextPID    int
	failStart  map[string]error
	programs   map[string]Program
	execExits  map[string]int // of health checks, by container id
	execs      map[string]int
}

// Program is the behaviour of a container's process.
type Program struct {
	// Command is its behaviour as a command in a running container; nil: as the fields below say.
	Command func(runtime.Stdio) (code int)
	// ExitCode is the exit code of a process that ends at once; nil runs until a signal or Exit.
	ExitCode func(env []string) *int
	// SIGTERMExitCode is the exit code with which SIGTERM ends it; nil: SIGTERM is ignored.
	SIGTERMExitCode *int
	// StartError is why the process cannot be started at all.
	StartError error
}

type container struct {
	existing        runtime.ExistingContainer
	sigtermExitCode *int
	env             []string
	ids             runtime.IDRange
	network         string
	exited          chan struct{} // closed when found.Exit is set
}

// New makes a machine without containers. Processes run until they are told to end, and SIGTERM ends them with 143.
func New() *Machine {
	return &Machine{
		containers: map[string]*container{}, starts: map[string]int{}, nextPID: 1000,
		failStart: map[string]error{}, programs: map[string]Program{}, execExits: map[string]int{}, execs: map[string]int{},
	}
}

// SetProgram makes containers with this command (its words joined by blanks) behave as the program.
func (m *Machine) SetProgram(command string, p Program) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.programs[command] = p
}

// FailStart makes every Start of the container fail with err; nil lets it succeed again.
func (m *Machine) FailStart(id string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failStart[id] = err
}

// Exit ends the container's process with a code, as the program in it would.
func (m *Machine) Exit(id string, code int) { m.end(id, runtime.Exit{Code: code}) }

// OOM ends the container as the kernel does when its memory is used up.
func (m *Machine) OOM(id string) { m.end(id, runtime.Exit{Code: 137, OOM: true}) }

// LoseExit ends the container without anybody knowing its exit code.
func (m *Machine) LoseExit(id string) { m.end(id, runtime.Exit{Code: -1, Lost: "the shim died"}) }

// Vanish takes the container away without a trace, as nobody should.
func (m *Machine) Vanish(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.containers, id)
}

// AddCreated puts a container on the machine that was created and never started.
func (m *Machine) AddCreated(f runtime.ExistingContainer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f.StartedAt, f.Exit = time.Time{}, nil
	m.containers[f.ID] = &container{existing: f, exited: make(chan struct{})}
}

// Running lists the ids of containers whose process lives, sorted.
func (m *Machine) Running() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for id, c := range m.containers {
		if c.existing.Exit == nil && !c.existing.StartedAt.IsZero() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// All lists the ids of the containers that have not been removed, sorted.
func (m *Machine) All() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.containers))
}

// ShiftStart has the runtime know another start of a container, as when the wall clock of the machine was off.
func (m *Machine) ShiftStart(id string, by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	started := &m.containers[id].existing.StartedAt
	*started = started.Add(by)
}

// IDs is the range of ids of the container's user namespace; zero: it has none.
func (m *Machine) IDs(id string) runtime.IDRange {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.containers[id].ids
}

// Network is the network of a container: a mode, or the path of a namespace.
func (m *Machine) Network(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.containers[id].network
}

// StartCount counts the processes that were started under the id.
func (m *Machine) StartCount(id string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.starts[id]
}

func (m *Machine) end(id string, e runtime.Exit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.containers[id]; c != nil {
		c.end(e)
	}
}

func (c *container) end(e runtime.Exit) {
	if c.existing.Exit != nil {
		return
	}
	e.At = time.Now()
	c.existing.Exit = &e
	close(c.exited)
}

func (m *Machine) start(spec runtime.ContainerSpec) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failStart[spec.ID]; err != nil {
		return err
	}
	if m.containers[spec.ID] != nil {
		return fmt.Errorf("container %s: %w", spec.ID, runtime.ErrExists)
	}
	program := m.program(spec)
	if program.StartError != nil {
		return program.StartError
	}
	m.nextPID++
	m.starts[spec.ID]++
	c := &container{sigtermExitCode: program.SIGTERMExitCode, env: spec.Env, ids: spec.IDs, network: spec.Network, exited: make(chan struct{}), existing: runtime.ExistingContainer{
		ID: spec.ID, TaskID: spec.Task.ID, Name: spec.Def.Name, Image: spec.Image, PID: m.nextPID,
		GPUs: slices.Clone(spec.GPUs), Shared: spec.Shared, CreatedAt: time.Now(), StartedAt: time.Now(),
	}}
	m.containers[spec.ID] = c
	if program.ExitCode != nil {
		if code := program.ExitCode(spec.Env); code != nil {
			c.end(runtime.Exit{Code: *code})
		}
	}
	return nil
}

func (m *Machine) program(spec runtime.ContainerSpec) Program {
	if p, ok := m.programs[strings.Join(slices.Concat(spec.Def.EntryPoint, spec.Def.Command), " ")]; ok {
		return p
	}
	return Program{SIGTERMExitCode: Code(128 + int(syscall.SIGTERM))}
}

func (m *Machine) wait(ctx context.Context, id string) (runtime.Exit, error) {
	m.mu.Lock()
	c := m.containers[id]
	m.mu.Unlock()
	if c == nil {
		return runtime.Exit{}, fmt.Errorf("container %s: %w", id, runtime.ErrNotFound)
	}
	select {
	case <-c.exited:
		return *c.existing.Exit, nil
	case <-ctx.Done():
		return runtime.Exit{}, ctx.Err()
	}
}

func (m *Machine) kill(id string, sig syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.containers[id]
	switch {
	case c == nil || c.existing.Exit != nil:
		return nil
	case c.existing.StartedAt.IsZero():
		return errors.New("container was never started")
	case sig == syscall.SIGKILL:
		c.end(runtime.Exit{Code: 128 + int(sig)})
	case sig == syscall.SIGTERM && c.sigtermExitCode != nil:
		c.end(runtime.Exit{Code: *c.sigtermExitCode})
	}
	return nil
}

func (m *Machine) list() []runtime.ExistingContainer {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []runtime.ExistingContainer
	for _, id := range slices.Sorted(maps.Keys(m.containers)) {
		all = append(all, m.containers[id].existing)
	}
	return all
}

func (m *Machine) remove(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.containers[id]; c != nil {
		c.end(runtime.Exit{Code: 137})
		delete(m.containers, id)
	}
}

// Code is a pointer to an exit code, for Program.
func Code(code int) *int { return &code }
