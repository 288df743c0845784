package server

import (
	"context"
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// pathProtection is where the leader says until when a task is protected from its service, and protects it. Any host may call it, for the tasks that
// are its own.
const pathProtection = pathLeader + "protection"

// TaskProtection is the scale-in protection of tasks, for the tasks themselves: ECS's agent has it for containers.
type TaskProtection struct{ Member *Member }

// protectionCall asks for the protection of a task, after it was set if Until is not nil; a zero time ends it.
type protectionCall struct {
	Task  string     `json:"task"`
	Until *time.Time `json:"until,omitempty"`
}

// Until is until when a task of this host is protected, after it was set if until is not nil; zero: it is not protected. spec.ErrNotFound; any other
// error for a task that cannot be protected.
func (p TaskProtection) Until(ctx context.Context, taskID string, until *time.Time) (protected time.Time, err error) {
	m, in := p.Member, protectionCall{taskID, until}
	err = Leadership{m}.callLeader(ctx, pathProtection, in, &protected, func(own *Server) (err error) {
		protected, err = in.carryOut(ctx, own, m.cfg.HostID)
		return err
	})
	return protected, err
}

// protectionHandler answers the calls of hosts.
func protectionHandler(m *Member) func(ctx context.Context, from string, in protectionCall) (time.Time, error) {
	return func(ctx context.Context, from string, in protectionCall) (time.Time, error) {
		own, err := m.leadingServer()
		if err != nil {
			return time.Time{}, err
		}
		return in.carryOut(ctx, own, from)
	}
}

func (in protectionCall) carryOut(ctx context.Context, own *Server, hostID string) (time.Time, error) {
	view, err := own.View(ctx)
	if err != nil {
		return time.Time{}, err
	}
	task := view.Task(in.Task)
	if task == nil || task.HostID != hostID || task.LastStatus == spec.Stopped {
		return time.Time{}, fmt.Errorf("task %s: %w: no such task runs on host %s", in.Task, spec.ErrNotFound, hostID)
	}
	if in.Until == nil {
		return task.ProtectedUntil.Get(), nil
	}
	answer, err := own.Propose(ctx, raftfsm.ProtectTasks{Cluster: task.Cluster, Tasks: []string{in.Task}, Until: *in.Until})
	if err != nil {
		return time.Time{}, err
	}
	if refusals, _ := answer.([]string); len(refusals) == 1 && refusals[0] != "" {
		return time.Time{}, fmt.Errorf("task %s cannot be protected: %s", in.Task, refusals[0])
	}
	return *in.Until, nil
}
