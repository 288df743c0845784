package fake

import (
	"context"
	"fmt"
	"strings"

	"pinion/node"
)

var _ node.Execer = (*Runtime)(nil)

// SetExecExit makes the container's health checks end with the code, until it is told another one; without, they end with 0.
func (m *Machine) SetExecExit(id string, code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.execExits[id] = code
}

// ExecCount is how often a command was run in the container.
func (m *Machine) ExecCount(id string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.execs[id]
}

// Exec implements node.Checks. A program that was taught under the command behaves as that; see Answer for others.
func (r *Runtime) Exec(ctx context.Context, id string, command []string) (int, error) {
	if err := r.checkUp(); err != nil {
		return 0, err
	}
	program, env, code, err := r.machine.exec(id, strings.Join(command, " "))
	switch {
	case err != nil:
		return 0, err
	case program == nil:
		return code, nil
	case program.StartError != nil:
		return 127, nil
	case program.ExitCode != nil:
		return *program.ExitCode(env), nil
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

func (m *Machine) exec(id, command string) (taught *Program, env []string, code int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.containers[id]
	if c == nil || c.existing.Exit != nil {
		return nil, nil, 0, fmt.Errorf("check container %s: it does not run", id)
	}
	m.execs[id]++
	if p, ok := m.programs[command]; ok {
		taught = &p
	}
	return taught, c.env, m.execExits[id], nil
}
