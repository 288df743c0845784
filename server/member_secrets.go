package server

import (
	"context"

	"pinion/raftfsm/secret"
	"pinion/raftfsm/valuefrom"
	"pinion/server/admission"
)

// pathSecrets is where the leader gives a host the secrets of its tasks. Any host may call it: each gets those of the tasks that are its own.
const pathSecrets = pathLeader + "secrets"

// Secrets are the parameters and secrets of the pool. They are sealed and opened where this host leads; tasks get theirs by OwnTasks.
type Secrets struct{ server *localServer }

// Seal is admission.SecretSealer.Seal.
func (s Secrets) Seal(ctx context.Context, of *secret.Secret, v *secret.Version, value string) error {
	own, err := s.server.get()
	if err != nil {
		return err
	}
	return own.secrets.Seal(ctx, of, v, value)
}

// Open is admission.SecretSealer.Open.
func (s Secrets) Open(ctx context.Context, of *secret.Secret, v *secret.Version) (string, error) {
	own, err := s.server.get()
	if err != nil {
		return "", err
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

// of is what the call asks for.
func (c secretsCall) of(kept admission.SecretSealer) func(ctx context.Context, hostID, taskID string, containers []string) ([]valuefrom.Value, error) {
	switch {
	case c.Registry:
		return kept.RegistryLogins
	case c.Log:
		return kept.LogOptions
	}
	return kept.OfTask
}

// secretsHandler answers the calls of hosts.
func secretsHandler(a *peerAPI) func(ctx context.Context, from string, in secretsCall) ([]valuefrom.Value, error) {
	return ofOwnTasks(a, func(ctx context.Context, own *Server, from string, in secretsCall) ([]valuefrom.Value, error) {
		return in.of(own.secrets)(ctx, from, in.Task, in.Containers)
	})
}
