package server

import (
	"context"
	"errors"

	"pinion/raftfsm/secret"
	"pinion/raftfsm/valuefrom"
	"pinion/server/admission"
	"pinion/server/peer"
)

// pathSecrets is where the leader gives a host the secrets of its tasks. Any host may call it: each gets those of the tasks that are its own.
const pathSecrets = pathLeader + "secrets"

// Secrets are the parameters and secrets of the pool. They are sealed and opened where this host leads; tasks get theirs from whichever host does.
type Secrets struct{ Member *Member }

// Seal is admission.Secrets.Seal.
func (s Secrets) Seal(ctx context.Context, of *secret.Secret, v *secret.Version, value string) error {
	own := s.Member.localServer()
	if own == nil {
		return errNotServer
	}
	return own.secrets.Seal(ctx, of, v, value)
}

// Open is admission.Secrets.Open.
func (s Secrets) Open(ctx context.Context, of *secret.Secret, v *secret.Version) (string, error) {
	own := s.Member.localServer()
	if own == nil {
		return "", errNotServer
	}
	return own.secrets.Open(ctx, of, v)
}

// secretsCall asks for the secrets of containers of a task.
type secretsCall struct {
	Task       string   `json:"task"`
	Containers []string `json:"containers"`
	Registry   bool     `json:"registry,omitempty"` // the credentials of their registries, and not their secrets
	Log        bool     `json:"log,omitempty"`      // the options of their log drivers, and not their secrets
}

// OfTask is admission.Secrets.OfTask for a task of this host.
func (s Secrets) OfTask(ctx context.Context, taskID string, containers []string) (values []valuefrom.Value, err error) {
	return s.ofTask(ctx, secretsCall{Task: taskID, Containers: containers})
}

// RegistryLogins is admission.Secrets.RegistryLogins for a task of this host.
func (s Secrets) RegistryLogins(ctx context.Context, taskID string, containers []string) (values []valuefrom.Value, err error) {
	return s.ofTask(ctx, secretsCall{Task: taskID, Containers: containers, Registry: true})
}

// LogOptions is admission.Secrets.LogOptions for a task of this host.
func (s Secrets) LogOptions(ctx context.Context, taskID string, containers []string) (values []valuefrom.Value, err error) {
	return s.ofTask(ctx, secretsCall{Task: taskID, Containers: containers, Log: true})
}

func (s Secrets) ofTask(ctx context.Context, call secretsCall) (values []valuefrom.Value, err error) {
	m := s.Member
	err = Leadership{m}.callLeader(ctx, pathSecrets, call, &values, func(own *Server) (err error) {
		values, err = call.of(own.secrets)(ctx, m.cfg.HostID, call.Task, call.Containers)
		return err
	})
	return values, err
}

// of is what the call asks for.
func (c secretsCall) of(kept admission.Secrets) func(ctx context.Context, hostID, taskID string, containers []string) ([]valuefrom.Value, error) {
	switch {
	case c.Registry:
		return kept.RegistryLogins
	case c.Log:
		return kept.LogOptions
	}
	return kept.OfTask
}

// secretsHandler answers the calls of hosts.
func secretsHandler(m *Member) func(ctx context.Context, from string, in secretsCall) ([]valuefrom.Value, error) {
	return ofOwnTasks(m, func(ctx context.Context, own *Server, from string, in secretsCall) ([]valuefrom.Value, error) {
		return in.of(own.secrets)(ctx, from, in.Task, in.Containers)
	})
}

// ofOwnTasks answers calls of hosts, each about a task of its own, while this host leads. One that asks for what it is not to have is reported.
func ofOwnTasks[In, Out any](m *Member, answer func(ctx context.Context, own *Server, from string, in In) (Out, error)) func(ctx context.Context, from string, in In) (Out, error) {
	return func(ctx context.Context, from string, in In) (out Out, err error) {
		own, err := m.leadingServer()
		if err != nil {
			return out, err
		}
		out, err = answer(ctx, own, from, in)
		if errors.Is(err, admission.ErrForeignTask) {
			m.cfg.Port.ReportRefusal(peer.Refusal{Operation: peer.OpCall, HostID: from, Reason: err})
		}
		return out, err
	}
}
