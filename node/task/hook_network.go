package task

import (
	"context"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// networkHook attaches the containers to the network and detaches them.
type networkHook struct {
	network    runtime.Network
	task       *spec.Task
	def        *spec.TaskDefinition
	containers containerList
	log        *slog.Logger
}

var (
	_ PrestartHook = (*networkHook)(nil)
	_ ReattachHook = (*networkHook)(nil)
	_ PoststopHook = (*networkHook)(nil)
)

func (h *networkHook) Name() string { return "network" }

// Prestart attaches all containers at the same time; in mode awsvpc they share one attachment.
func (h *networkHook) Prestart(ctx context.Context, starts []*Start) error {
	mode := networkMode(h.def)
	switch {
	case mode == runtime.NetworkHost || mode == runtime.NetworkNone:
		return nil
	case !runtime.HasNamespace(mode):
		return startError(kindNetworking, starts[0].Container, fmt.Errorf("network mode %q is not supported; use bridge, awsvpc, host or none", mode))
	}
	all, attaching := errgroup.WithContext(ctx)
	if h.def.HasOwnAddress() {
		all.SetLimit(1) // the first makes what the others find
	}
	for _, s := range starts {
		if s.Container.networkMode() == runtime.NetworkNone {
			continue
		}
		all.Go(func() error {
			attachment, err := h.attach(attaching, s.Container, s.Spec.IDs)
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
		if s.Router, err = h.routerAddress(ctx, s); err != nil {
			return startError(kindNetworking, s.Container, err)
		}
	}
	return nil
}

// attach attaches a container, or finds how it is attached.
func (h *networkHook) attach(ctx context.Context, c *Container, ids runtime.IDRange) (runtime.Attachment, error) {
	return h.network.Attach(ctx, runtime.ToAttach(networkMode(h.def), h.task.ID, c.ID, ids, c.Def.PortMappings))
}

// Reattach asks for the address and the ports of a running container: their report may have been lost.
func (h *networkHook) Reattach(ctx context.Context, c *Container) {
	if !runtime.HasNamespace(c.networkMode()) || len(c.Def.PortMappings) == 0 && !h.def.HasOwnAddress() {
		return
	}
	attachment, err := h.attach(ctx, c, runtime.IDRange{})
	if err != nil {
		h.log.Warn("address and published ports of a running container are unknown", "container", c.Def.Name, "error", err)
		return
	}
	c.updateReport(func(report *spec.ContainerReport) {
		c.reportAttachment(report, attachment.Address, attachment.Bindings)
	})
}

// Poststop detaches all containers at the same time, and the task: of one that the pool does not know any more the mode is not known either.
func (h *networkHook) Poststop(ctx context.Context) error {
	if !runtime.HasNamespace(networkMode(h.def)) {
		return nil
	}
	var all errgroup.Group
	all.Go(func() error { return h.network.Detach(ctx, h.task.ID) })
	for _, c := range h.containers {
		all.Go(func() error { return h.network.Detach(ctx, c.ID) })
	}
	return all.Wait()
}
