package task

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// networkHook attaches the containers to the network and detaches them.
type networkHook struct{ runner *Runner }

var (
	_ PrestartHook = (*networkHook)(nil)
	_ ReattachHook = (*networkHook)(nil)
	_ PoststopHook = (*networkHook)(nil)
)

func (h *networkHook) Name() string { return "network" }

// Prestart attaches all containers at the same time.
func (h *networkHook) Prestart(ctx context.Context, starts []*Start) error {
	switch networkMode(h.runner.def) {
	case runtime.NetworkBridge:
	case runtime.NetworkHost, runtime.NetworkNone:
		return nil
	default:
		return startError(kindNetworking, starts[0].Container, fmt.Errorf("network mode %q is not supported; use bridge, host or none", networkMode(h.runner.def)))
	}
	all, attaching := errgroup.WithContext(ctx)
	for _, s := range starts {
		all.Go(func() error {
			attachment, err := h.runner.config.Network.Attach(attaching, s.Spec.ID, s.Spec.IDs, s.Spec.Def.PortMappings)
			s.Spec.Network, s.Address, s.Bindings = attachment.Namespace, attachment.Address, attachment.Bindings
			return startError(kindNetworking, s.Container, err)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for _, s := range starts {
		var err error
		if s.Links, err = h.linkedHosts(ctx, s); err != nil {
			return startError(kindNetworking, s.Container, err)
		}
	}
	return nil
}

// Reattach asks for the ports of a running container: their report may have been lost.
func (h *networkHook) Reattach(ctx context.Context, c *Container) {
	if networkMode(h.runner.def) != runtime.NetworkBridge || len(c.Def.PortMappings) == 0 {
		return
	}
	attachment, err := h.runner.config.Network.Attach(ctx, c.ID, runtime.IDRange{}, c.Def.PortMappings)
	if err != nil {
		h.runner.log.Warn("published ports of a running container are unknown", "container", c.Def.Name, "err", err)
		return
	}
	c.updateReport(func(report *spec.ContainerReport) { report.Bindings = attachment.Bindings })
}

// Poststop detaches all containers at the same time.
func (h *networkHook) Poststop(ctx context.Context) error {
	if networkMode(h.runner.def) != runtime.NetworkBridge {
		return nil
	}
	var all errgroup.Group
	for _, c := range h.runner.containers {
		all.Go(func() error { return h.runner.config.Network.Detach(ctx, c.ID) })
	}
	return all.Wait()
}
