package envfile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"pinion/node/task"
	"pinion/raftfsm/envfile"
	"pinion/raftfsm/spec"
)

// Hooks are the hooks of a task: none when no container of its definition has environment files.
func (b *Buckets) Hooks(a spec.Assignment) []task.Hook {
	if slices.ContainsFunc(a.Definition.Containers, func(c spec.ContainerDefinition) bool { return len(c.EnvironmentFiles) > 0 }) {
		return []task.Hook{&hook{buckets: b, variables: map[string][]envfile.Variable{}}}
	}
	return nil
}

// hook gives the containers of one task their variables.
type hook struct {
	buckets *Buckets

	mu        sync.Mutex
	variables map[string][]envfile.Variable // of the containers that are about to start, by their names
}

var (
	_ task.PrestartHook = (*hook)(nil)
	_ task.SpecHook     = (*hook)(nil)
)

func (*hook) Name() string { return "environment files" }

// Prestart reads the files anew for each start.
func (h *hook) Prestart(ctx context.Context, starts []*task.Start) error {
	for _, start := range starts {
		variables, err := h.buckets.Variables(ctx, start.Spec.Def.EnvironmentFiles)
		if err != nil {
			return &task.StartError{Kind: task.KindResource, Container: start.Container, Err: fmt.Errorf("container %s: %w", start.Spec.Def.Name, err)}
		}
		h.mu.Lock()
		h.variables[start.Spec.Def.Name] = variables
		h.mu.Unlock()
	}
	return nil
}

// BuildSpec sets the variables whose names nothing else has set: neither the definition or its overrides, nor the pool.
func (h *hook) BuildSpec(s *task.Start) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	set := map[string]bool{}
	for _, entry := range s.Spec.Env {
		name, _, _ := strings.Cut(entry, "=")
		set[name] = true
	}
	for _, secret := range s.Spec.Def.Secrets {
		set[secret.Name] = true // who writes to the bucket does not choose it
	}
	for _, v := range h.variables[s.Spec.Def.Name] {
		if !set[v.Name] {
			s.Spec.Env = append(s.Spec.Env, v.Name+"="+v.Value)
		}
	}
	delete(h.variables, s.Spec.Def.Name)
	return nil
}
