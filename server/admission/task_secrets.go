package admission

import (
	"context"
	"errors"

	"pinion/raftfsm/valuefrom"
	"pinion/server/peer"
	"pinion/server/rpc"
)

// The calls in which a host asks the leader for what tasks of its own are to have. Any host may make them.
const (
	PathSecrets     = "/peer/leader/secrets"     // for secrets
	PathCredentials = "/peer/leader/credentials" // for an access key
)

// TaskSecrets asks the leader for what the tasks of this host are to have that is secret, and answers other hosts that ask for theirs. The leader
// gives it to the host that has the task, and to no other.
type TaskSecrets struct {
	Leader   rpc.Leadership
	HostID   string // of this host
	Sealer   SecretSealer
	Refusals peer.Refusals // is told of hosts that ask for what is of tasks of others
}

// secretsCall asks for the secrets of containers of a task.
type secretsCall struct {
	Task       string   `json:"task"`
	Containers []string `json:"containers"`
	Registry   bool     `json:"registry,omitempty"` // the credentials of their registries, and not their secrets
	Log        bool     `json:"log,omitempty"`      // the options of their log drivers, and not their secrets
}

// credentialsCall asks for an access key of a task.
type credentialsCall struct {
	Task string `json:"task"`
}

// Secrets is SecretSealer.OfTask.
func (t TaskSecrets) Secrets(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error) {
	return t.values().Do(ctx, t.Leader, t.HostID, secretsCall{Task: taskID, Containers: containers})
}

// RegistryLogins is SecretSealer.RegistryLogins.
func (t TaskSecrets) RegistryLogins(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error) {
	return t.values().Do(ctx, t.Leader, t.HostID, secretsCall{Task: taskID, Containers: containers, Registry: true})
}

// LogOptions is SecretSealer.LogOptions.
func (t TaskSecrets) LogOptions(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error) {
	return t.values().Do(ctx, t.Leader, t.HostID, secretsCall{Task: taskID, Containers: containers, Log: true})
}

// Credentials is SecretSealer.KeyOfTask: the access key that a task has by its role.
func (t TaskSecrets) Credentials(ctx context.Context, taskID string) (TaskKey, error) {
	return t.keys().Do(ctx, t.Leader, t.HostID, credentialsCall{taskID})
}

// Routes answers other hosts, by the paths of the calls.
func (t TaskSecrets) Routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{
		PathSecrets:     rpc.JSON(reportForeign(t.Refusals, t.values().Answer)),
		PathCredentials: rpc.JSON(reportForeign(t.Refusals, t.keys().Answer)),
	}
}

func (t TaskSecrets) values() rpc.LeaderCall[secretsCall, []valuefrom.Value] {
	return rpc.LeaderCall[secretsCall, []valuefrom.Value]{Path: PathSecrets, Answer: func(ctx context.Context, from string, in secretsCall) ([]valuefrom.Value, error) {
		switch {
		case in.Registry:
			return t.Sealer.RegistryLogins(ctx, from, in.Task, in.Containers)
		case in.Log:
			return t.Sealer.LogOptions(ctx, from, in.Task, in.Containers)
		}
		return t.Sealer.OfTask(ctx, from, in.Task, in.Containers)
	}}
}

func (t TaskSecrets) keys() rpc.LeaderCall[credentialsCall, TaskKey] {
	return rpc.LeaderCall[credentialsCall, TaskKey]{Path: PathCredentials, Answer: func(ctx context.Context, from string, in credentialsCall) (TaskKey, error) {
		return t.Sealer.KeyOfTask(ctx, from, in.Task)
	}}
}

// reportForeign reports a host that asks for what is of a task of another host.
func reportForeign[In, Out any](refusals peer.Refusals, answer func(ctx context.Context, from string, in In) (Out, error)) func(ctx context.Context, from string, in In) (Out, error) {
	return func(ctx context.Context, from string, in In) (Out, error) {
		out, err := answer(ctx, from, in)
		if errors.Is(err, ErrForeignTask) {
			refusals.Report(peer.Refusal{Operation: peer.OpCall, HostID: from, Reason: err})
		}
		return out, err
	}
}
