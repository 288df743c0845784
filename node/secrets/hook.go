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

// Source reads the secrets of this host's tasks.
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
	// Printed is told the reference of each secret that such a program was asked for; nil: nobody is.
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
	sizes  map[string]int               // of the memory that the secrets of each container take, by its name
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
	if err := h.checkSize(starts, values); err != nil {
		return &task.StartError{Kind: task.KindResource, Err: err}
	}
	if h.values == nil {
		h.values = map[string]map[string]string{}
	}
	maps.Copy(h.values, values)
	return nil
}

const (
	// maxTaskSecrets bounds the memory that the secrets of a task take on its host, so that no task keeps others from theirs.
	maxTaskSecrets = 1 << 20
	// secretPage is the least size of a secret as a file.
	secretPage = 4 << 10
)

// checkSize refuses secrets with which the task would have more than maxTaskSecrets. A container that is started again has its secrets anew.
func (h *hook) checkSize(starts []*task.Start, values map[string]map[string]string) error {
	sizes := maps.Clone(h.sizes)
	if sizes == nil {
		sizes = map[string]int{}
	}
	total := 0
	for _, start := range starts {
		delete(sizes, start.Spec.Def.Name)
	}
	for _, size := range sizes {
		total += size
	}
	for _, start := range starts {
		container := start.Spec.Def
		for _, wanted := range container.Secrets {
			size := sizeOf(container, wanted.Name, values[container.Name][wanted.Name])
			if total += size; total > maxTaskSecrets {
				return fmt.Errorf("the secrets of task %s take more than %d KiB of memory, which is the most for a task: secret %s of container %s is beyond it. Have fewer or smaller ones; as files (%s) each takes %d KiB at least",
					h.assignment.Task.ID, maxTaskSecrets>>10, wanted.Name, container.Name, label.SecretFiles, secretPage>>10)
			}
			sizes[container.Name] += size
		}
	}
	h.sizes = sizes
	return nil
}

// sizeOf is the memory that a secret of a container takes: files take whole pages, variables are in one file.
func sizeOf(container *spec.ContainerDefinition, name, value string) int {
	if container.DockerLabels[label.SecretFiles] != "" {
		return max(1, (len(value)+secretPage-1)/secretPage) * secretPage
	}
	return len(name) + len(value) + 2
}

// get are the values for the containers.
func (h *hook) get(ctx context.Context, starts []*task.Start) (map[string]map[string]string, error) {
	values, fromPool, printed := map[string]map[string]string{}, []string{}, 0
	for _, start := range starts {
		container := start.Spec.Def
		values[container.Name] = map[string]string{}
		for _, wanted := range container.Secrets {
			ref, err := valuefrom.Parse(wanted.ValueFrom)
			if err == nil && ref.Store == valuefrom.Command {
				var value string
				if value, err = h.source.run(ctx, h.assignment.Task.ID, h.assignment.Task.Cluster, ref); err == nil {
					if printed += len(value); printed > maxTaskSecrets { // before the next ones are held too
						err = fmt.Errorf("the programs of this host print more than %d KiB for task %s, which is the most for a task", maxTaskSecrets>>10, h.assignment.Task.ID)
					}
				}
				values[container.Name][wanted.Name] = value
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
