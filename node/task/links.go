package task

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pinion/raftfsm/spec"
)

// dependingOnLinks is a definition of which the links are dependencies too: a container starts after those that it is linked to, as in Docker.
func dependingOnLinks(def *spec.ContainerDefinition) *spec.ContainerDefinition {
	if len(def.Links) == 0 {
		return def
	}
	changed := *def
	changed.DependsOn = slices.Clone(def.DependsOn)
	for _, link := range def.Links {
		name, _, _ := strings.Cut(link, ":")
		if !slices.ContainsFunc(def.DependsOn, func(d spec.ContainerDependency) bool { return d.ContainerName == name }) {
			changed.DependsOn = append(changed.DependsOn, spec.ContainerDependency{ContainerName: name, Condition: spec.DependStart})
		}
	}
	return &changed
}

// linkedHosts are the names under which a container has those that it is linked to. These are attached by now, or again: their addresses stay.
func (h *networkHook) linkedHosts(ctx context.Context, s *Start) (names []spec.HostEntry, err error) {
	for _, link := range s.Spec.Def.Links {
		name, alias, _ := strings.Cut(link, ":")
		other := h.runner.containers.named(name)
		if other == nil {
			continue // the API refuses it
		}
		attachment, err := h.attach(ctx, other, s.Spec.IDs)
		if err != nil {
			return nil, err
		}
		for _, hostname := range slices.Compact([]string{cmp.Or(alias, name), name}) {
			names = append(names, spec.HostEntry{Hostname: hostname, IPAddress: attachment.Address})
		}
	}
	return names, nil
}
