package fake

import (
	"context"
	"fmt"
	"net"
	"strings"

	"pinion/node/runtime"
)

var _ runtime.Execer = (*Runtime)(nil)

// SetExecExit sets the exit code of commands in the container, 0 when it was never set.
func (m *Machine) SetExecExit(id string, code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.execExits[id] = code
}

// ExecCount counts the commands that were run in the container.
func (m *Machine) ExecCount(id string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.execs[id]
}

// Exec implements runtime.Execer. A program that was set for the command behaves as that; see SetExecExit for others.
func (r *Runtime) Exec(ctx context.Context, id string, c runtime.ExecRequest) (int, error) {
	if err := r.checkUp(); err != nil {
		return 0, err
	}
	program, env, code, err := r.machine.exec(id, strings.Join(c.Cmd, " "))
	switch {
	case err != nil:
		return 0, err
	case program == nil:
		return code, nil
	case program.Command != nil:
		return program.Command(c.Stdio), nil
	case program.StartError != nil:
		return 127, nil
	case program.ExitCode != nil:
		return *program.ExitCode(env), nil
	}
	<-ctx.Done()
	return 0, ctx.Err()
}

// Dial implements runtime.Execer: nothing listens in a container of a machine that is not there.
func (r *Runtime) Dial(_ context.Context, id string, port int) (net.Conn, error) {
	if err := r.checkUp(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("port %d of container %s: connection refused", port, id)
}

func (m *Machine) exec(id, command string) (taught *Program, env []string, code int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.containers[id]
	if c == nil || c.existing.Exit != nil {
		return nil, nil, 0, fmt.Errorf("run a command in container %s: it does not run", id)
	}
	m.execs[id]++
	if p, ok := m.programs[command]; ok {
		taught = &p
	}
	return taught, c.env, m.execExits[id], nil
}
