// Package secrets gives the containers of tasks their secrets: those that the pool keeps, which its leader gives to the host of the task alone, and those
// that a program of the host prints. Values are in memory only.
package secrets

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/packaging/backoff"
	"pinion/raftfsm/label"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// Source is where the secrets of this host's tasks come from.
type Source struct {
	// Pool are the values of the secrets of containers of a task that the pool keeps. The error wraps valuefrom.ErrUnresolved when there is none,
	// however often one asks.
	Pool func(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error)
	// Logins are the credentials of the registries of containers, likewise: values without names.
	Logins func(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error)
	// Logs are the values of the options of log drivers of containers, likewise.
	Logs func(ctx context.Context, taskID string, containers []string) ([]valuefrom.Value, error)
	// Commands are programs of this host that print values that other systems keep, by the names that references have for them.
	Commands map[string]string
	// Printed is told what such a program was asked for; nil: nobody is.
	Printed func(taskID, cluster, reference string)
	Log     *slog.Logger
}

// Hooks are the hooks of a task: none when no container of its definition has secrets, or credentials of a registry.
func (s Source) Hooks(a spec.Assignment) (all []task.Hook) {
	h := &hook{source: s, assignment: a}
	if slices.ContainsFunc(a.Definition.Containers, func(c spec.ContainerDefinition) bool { return len(c.Secrets) > 0 }) {
		all = append(all, h)
	}
	if slices.ContainsFunc(a.Definition.Containers, func(c spec.ContainerDefinition) bool { return c.RepositoryCredentials != nil }) {
		all = append(all, logins{h})
	}
	return all
}

// hook gives the containers of one task their secrets.
type hook struct {
	source     Source
	assignment spec.Assignment

	mu     sync.Mutex
	values map[string]map[string]string // of the containers that are about to start, by the names of both
}

var (
	_ task.PrestartHook = (*hook)(nil)
	_ task.SpecHook     = (*hook)(nil)
)

func (*hook) Name() string { return "secrets" }

// Prestart gets the values for the containers that are about to start. It goes on trying while the pool does not answer, and ends the task when it
// says that there is no such secret.
func (h *hook) Prestart(ctx context.Context, starts []*task.Start) error {
	values, err := h.get(ctx, starts)
	if err != nil {
		return &task.StartError{Kind: task.KindResource, Err: fmt.Errorf("unable to pull secrets: %w", err)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values = map[string]map[string]string{}
	}
	maps.Copy(h.values, values)
	return nil
}

// get are the values for the containers.
func (h *hook) get(ctx context.Context, starts []*task.Start) (map[string]map[string]string, error) {
	values, fromPool := map[string]map[string]string{}, []string{}
	for _, start := range starts {
		container := start.Spec.Def
		values[container.Name] = map[string]string{}
		for _, wanted := range container.Secrets {
			ref, err := valuefrom.Parse(wanted.ValueFrom)
			if err == nil && ref.Store == valuefrom.Command {
				values[container.Name][wanted.Name], err = h.source.run(ctx, h.assignment.Task.ID, h.assignment.Task.Cluster, ref)
			} else if !slices.Contains(fromPool, container.Name) {
				fromPool = append(fromPool, container.Name)
			}
			if err != nil {
				return nil, fmt.Errorf("secret %s of container %s: %w", wanted.Name, container.Name, err)
			}
		}
	}
	if len(fromPool) == 0 {
		return values, nil
	}
	kept, err := h.ask(ctx, h.source.Pool, "get the secrets of a task", fromPool)
	for _, v := range kept {
		if of := values[v.Container]; of != nil {
			of[v.Name] = string(v.Value)
		}
	}
	return values, err
}

// ask asks until the pool answers.
func (h *hook) ask(ctx context.Context, pool func(context.Context, string, []string) ([]valuefrom.Value, error), what string, containers []string) (values []valuefrom.Value, err error) {
	err = backoff.RetryUnless(ctx, h.source.Log.With("task", h.assignment.Task.ID), what, valuefrom.ErrUnresolved, func(ctx context.Context) (err error) {
		values, err = pool(ctx, h.assignment.Task.ID, containers)
		return err
	})
	return values, err
}

// BuildSpec gives a container its values, and forgets them: when it is restarted they are asked for again.
func (h *hook) BuildSpec(s *task.Start) error {
	container := s.Spec.Def
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Spec.Secrets, s.Spec.SecretFiles = nil, container.DockerLabels[label.SecretFiles]
	for _, wanted := range container.Secrets {
		value, known := h.values[container.Name][wanted.Name]
		if !known {
			return &task.StartError{Kind: task.KindResource, Container: s.Container, Err: fmt.Errorf("unable to pull secrets: the pool's answer lacks secret %s of container %s", wanted.Name, container.Name)}
		}
		s.Spec.Secrets = append(s.Spec.Secrets, runtime.Secret{Name: wanted.Name, Value: value})
	}
	delete(h.values, container.Name)
	return nil
}
