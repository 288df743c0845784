package task

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pinion/raftfsm/spec"
)

// withImplied is a definition with its implied dependencies: a container starts after those that it is linked to, as in Docker, and after the log
// router that gets its lines.
func withImplied(def *spec.ContainerDefinition, router *spec.ContainerDefinition) *spec.ContainerDefinition {
	var implied []string
	for _, link := range def.Links {
		name, _, _ := strings.Cut(link, ":")
		implied = append(implied, name)
	}
	if router != nil && def.LogConfiguration.Routed() {
		implied = append(implied, router.Name)
	}
	if len(implied) == 0 {
		return def
	}
	changed := *def
	changed.DependsOn = slices.Clone(def.DependsOn)
	for _, name := range implied {
		if !slices.ContainsFunc(changed.DependsOn, func(d spec.ContainerDependency) bool { return d.ContainerName == name }) {
			changed.DependsOn = append(changed.DependsOn, spec.ContainerDependency{ContainerName: name, Condition: spec.DependStart})
		}
	}
	return &changed
}

// linkedHosts are the names under which a container reaches its linked containers. These are attached by now, or again: their addresses stay.
func (h *networkHook) linkedHosts(ctx context.Context, s *Start) (names []spec.ExtraHost, err error) {
	for _, link := range s.Spec.Def.Links {
		name, alias, _ := strings.Cut(link, ":")
		other := h.containers.named(name)
		if other == nil {
			continue // the API refuses it
		}
		attachment, err := h.attach(ctx, other, s.Spec.IDs)
		if err != nil {
			return nil, err
		}
		for _, hostname := range slices.Compact([]string{cmp.Or(alias, name), name}) {
			names = append(names, spec.ExtraHost{Hostname: hostname, IPAddress: attachment.Address})
		}
	}
	return names, nil
}

// routerAddress is the address at which the log router takes records from the container over TCP: its own, or that of the namespace that they share. Empty: none.
func (h *networkHook) routerAddress(ctx context.Context, s *Start) (string, error) {
	router := h.def.LogRouter()
	if router == nil || !s.Spec.Def.LogConfiguration.Routed() || s.Spec.Def.HasNoNetwork() || router.HasNoNetwork() {
		return "", nil
	}
	if h.def.HasOwnAddress() {
		return "127.0.0.1", nil
	}
	attachment, err := h.attach(ctx, h.containers.named(router.Name), s.Spec.IDs)
	return attachment.Address, err
}
