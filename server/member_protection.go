package server

import (
	"context"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// pathProtection is where the leader says until when a task is protected from its service, and protects it. Any host may call it, for the tasks that
// are its own.
const pathProtection = pathLeader + "protection"

// protectionCall asks for the protection of a task, after it was set if Until is not nil; a zero time ends it.
type protectionCall struct {
	Task  string     `json:"task"`
	Until *time.Time `json:"until,omitempty"`
}

// Protection is the answer: until when a task is protected, zero: it is not; or why it cannot be, in ECS's words.
type Protection struct {
	Until   time.Time `json:"until,omitzero"`
	Refusal string    `json:"refusal,omitempty"` // TASK_NOT_VALID, DEPLOYMENT_BLOCKED or MISSING
}

// protectionHandler answers the calls of hosts.
func protectionHandler(a *peerAPI) func(ctx context.Context, from string, in protectionCall) (Protection, error) {
	return func(ctx context.Context, from string, in protectionCall) (Protection, error) {
		own, err := a.server.leading()
		if err != nil {
			return Protection{}, err
		}
		return in.carryOut(ctx, own, from)
	}
}

// maxProtection is the longest of ECS. Hosts hold their tasks to it, and root of one holds itself to nothing.
const maxProtection = 2880 * time.Minute

// slack is how much longer a protection may last before it is recorded anew: a task may ask often.
const slack = 10 * time.Second

func (in protectionCall) carryOut(ctx context.Context, own *Server, hostID string) (Protection, error) {
	if most := own.cfg.Now().Add(maxProtection); in.Until != nil && in.Until.After(most) { // or the clock of the host is ahead
		in.Until = &most
	}
	view, err := own.View(ctx)
	if err != nil {
		return Protection{}, err
	}
	task := view.Task(in.Task)
	switch {
	case task == nil || task.HostID != hostID || task.LastStatus == spec.Stopped:
		return Protection{Refusal: spec.ReasonMissing}, nil
	case task.Service == nil:
		return Protection{Refusal: raftfsm.ReasonTaskNotValid}, nil
	}
	is := task.ProtectedUntil.Get()
	if in.Until == nil || is.IsZero() == in.Until.IsZero() && in.Until.Sub(is).Abs() < slack {
		return Protection{Until: is}, nil
	}
	answer, err := own.Propose(ctx, raftfsm.ProtectTasks{Cluster: task.Cluster, Tasks: []string{in.Task}, Until: *in.Until})
	if err != nil {
		return Protection{}, err
	}
	if refusals, _ := answer.([]string); len(refusals) == 1 && refusals[0] != "" {
		return Protection{Refusal: refusals[0]}, nil
	}
	return Protection{Until: *in.Until}, nil
}
