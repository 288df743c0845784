// Package secrets gives the containers of tasks their secrets: those that the pool keeps, which its leader gives to the host of the task alone, and those
// that a program of the host prints. Values are in memory only.
package secrets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"pinion/node/backoff"
	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/label"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// startErrorKind is ECS's name for the error of a task whose secrets cannot be had.
const startErrorKind = "ResourceInitializationError"

// Source is where the secrets of this host's tasks come from.
type Source struct {
	// Pool are the values of a task's secrets that the pool keeps. The error wraps valuefrom.ErrUnresolved when there is none, whoever asks again.
	Pool func(ctx context.Context, taskID string) ([]valuefrom.Value, error)
	// Commands are programs of this host that print values that other systems keep, by the names that references have for them.
	Commands map[string]string
	Log      *slog.Logger
}

// Hooks are the hooks of a task: none when no container of its definition has secrets.
func (s Source) Hooks(a spec.Assignment) []task.Hook {
	for i := range a.Definition.Containers {
		if len(a.Definition.Containers[i].Secrets) > 0 {
			return []task.Hook{&hook{source: s, assignment: a}}
		}
	}
	return nil
}

// hook gives the containers of one task their secrets.
type hook struct {
	source     Source
	assignment spec.Assignment

	mu     sync.Mutex
	values map[valueKey]string
}

// valueKey is a secret of a container.
type valueKey struct{ container, name string }

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
		return &task.StartError{Kind: startErrorKind, Err: fmt.Errorf("unable to pull secrets: %w", err)}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.values = values
	return nil
}

func (h *hook) get(ctx context.Context, starts []*task.Start) (map[valueKey]string, error) {
	values, fromPool := map[valueKey]string{}, false
	for _, start := range starts {
		container := start.Spec.Def
		for _, wanted := range container.Secrets {
			ref, err := valuefrom.Parse(wanted.ValueFrom)
			if err == nil && ref.Store == valuefrom.Command {
				values[valueKey{container.Name, wanted.Name}], err = h.run(ctx, ref)
			} else {
				fromPool = true
			}
			if err != nil {
				return nil, fmt.Errorf("secret %s of container %s: %w", wanted.Name, container.Name, err)
			}
		}
	}
	if !fromPool {
		return values, nil
	}
	kept, err := h.askPool(ctx)
	for _, v := range kept {
		values[valueKey{v.Container, v.Name}] = v.Value
	}
	return values, err
}

// askPool asks until the pool answers.
func (h *hook) askPool(ctx context.Context) (values []valuefrom.Value, unresolved error) {
	err := backoff.Retry(ctx, h.source.Log.With("task", h.assignment.Task.ID), "get the secrets of a task", func(ctx context.Context) (err error) {
		values, err = h.source.Pool(ctx, h.assignment.Task.ID)
		if errors.Is(err, valuefrom.ErrUnresolved) {
			unresolved, err = err, nil
		}
		return err
	})
	return values, errors.Join(unresolved, err)
}

// BuildSpec gives a container its values.
func (h *hook) BuildSpec(s *task.Start) error {
	container := s.Spec.Def
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Spec.Secrets, s.Spec.SecretFiles = nil, container.DockerLabels[label.SecretFiles]
	for _, wanted := range container.Secrets {
		value, known := h.values[valueKey{container.Name, wanted.Name}]
		if !known {
			return &task.StartError{Kind: startErrorKind, Container: s.Container, Err: fmt.Errorf("unable to pull secrets: the pool has not said what secret %s of container %s is", wanted.Name, container.Name)}
		}
		s.Spec.Secrets = append(s.Spec.Secrets, runtime.Secret{Name: wanted.Name, Value: value})
	}
	return nil
}
