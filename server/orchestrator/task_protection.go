package orchestrator

import (
	"context"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// PathProtection is the path at the leader for the protection of a task from its service, to read and to set it. Any host may call it, for the tasks that
// are its own.
const PathProtection = "/peer/leader/protection"

const (
	// maxProtection is the longest of ECS. Hosts hold their tasks to it, and root of one holds itself to nothing.
	maxProtection = 2880 * time.Minute
	// protectionSlack is the least change of a protection's end that is recorded: a task may ask often.
	protectionSlack = 10 * time.Second
)

// Protection is until when a task is protected, zero: it is not; or why it cannot be, in ECS's words.
type Protection struct {
	Until   time.Time `json:"until,omitzero"`
	Refusal string    `json:"refusal,omitempty"` // TASK_NOT_VALID, DEPLOYMENT_BLOCKED or MISSING
}

// ProtectionRecorder reads and records the protection of tasks; a consensus.Node is one.
type ProtectionRecorder interface {
	View(ctx context.Context) (*raftfsm.View, error)
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
	Now() time.Time
}

// TaskProtection is the scale-in protection of the tasks of this host, which it asks the leader for, and that of the tasks of the hosts that ask this
// one while it leads.
type TaskProtection struct {
	Leader   rpc.Leadership
	HostID   string                             // of this host
	Recorder func() (ProtectionRecorder, error) // the server here, while it leads
}

// protectionCall asks for the protection of a task, after it was set if Until is not nil; a zero time ends it.
type protectionCall struct {
	Task  string     `json:"task"`
	Until *time.Time `json:"until,omitempty"`
}

// Protection is the scale-in protection of a task, after it was set if until is not nil; a zero time ends it. ECS's agent has it for containers.
func (p TaskProtection) Protection(ctx context.Context, taskID string, until *time.Time) (Protection, error) {
	return p.call().Do(ctx, p.Leader, p.HostID, protectionCall{taskID, until})
}

// Routes answers other hosts, by the path of the call.
func (p TaskProtection) Routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{PathProtection: p.call().Handler()}
}

func (p TaskProtection) call() rpc.LeaderCall[protectionCall, Protection] {
	return rpc.LeaderCall[protectionCall, Protection]{Path: PathProtection, Answer: func(ctx context.Context, from string, in protectionCall) (Protection, error) {
		recorder, err := p.Recorder()
		if err != nil {
			return Protection{}, err
		}
		return ProtectTask(ctx, recorder, from, in.Task, in.Until)
	}}
}

// ProtectTask is the protection of a task of a host, after it was set if until is not nil.
func ProtectTask(ctx context.Context, recorder ProtectionRecorder, hostID, taskID string, until *time.Time) (Protection, error) {
	if most := recorder.Now().Add(maxProtection); until != nil && until.After(most) { // or the clock of the host is ahead
		until = &most
	}
	view, err := recorder.View(ctx)
	if err != nil {
		return Protection{}, err
	}
	task := view.Task(taskID)
	switch {
	case task == nil || task.HostID != hostID || task.LastStatus == spec.Stopped:
		return Protection{Refusal: spec.ReasonMissing}, nil
	case task.Service == nil:
		return Protection{Refusal: raftfsm.ReasonTaskNotValid}, nil
	}
	is := task.ProtectedUntil.Get()
	if until == nil || is.IsZero() == until.IsZero() && until.Sub(is).Abs() < protectionSlack {
		return Protection{Until: is}, nil
	}
	answer, err := recorder.Propose(ctx, raftfsm.ProtectTasks{Cluster: task.Cluster, Tasks: []string{taskID}, Until: *until})
	if err != nil {
		return Protection{}, err
	}
	if refusals, _ := answer.([]string); len(refusals) == 1 && refusals[0] != "" {
		return Protection{Refusal: refusals[0]}, nil
	}
	return Protection{Until: *until}, nil
}
