package fake

import (
	"context"
	"fmt"
	"strings"

	"pinion/node"
)

var _ node.Checks = (*Runtime)(nil)

// Answer makes the container's health checks end with the code, until it is told another one; without, they end with 0.
func (m *Machine) Answer(id string, code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[id] = code
}

// Checked is how often a command was run in the container.
func (m *Machine) Checked(id string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.checks[id]
}

// Check implements node.Checks. A program that was taught under the command behaves as that; see Answer for others.
func (r *Runtime) Check(ctx context.Context, id string, command []string) (int, error) {
	if err := r.up(); err != nil {
		return 0, err
	}
	program, env, code, err := r.machine.check(id, strings.Join(command, " "))
	switch {
	case err != nil:
		return 0, err
	case program == nil:
		return code, nil
	case program.Fails != nil:
		return 127, nil
	case program.Ends != nil:
		return *program.Ends(env), nil
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

func (m *Machine) check(id, command string) (taught *Program, env []string, code int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.containers[id]
	if c == nil || c.found.Exit != nil {
		return nil, nil, 0, fmt.Errorf("check container %s: it does not run", id)
	}
	m.checks[id]++
	if p, ok := m.programs[command]; ok {
		taught = &p
	}
	return taught, c.env, m.answers[id], nil
}
