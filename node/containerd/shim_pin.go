package containerd

import (
	"context"
	"fmt"

	containerd "github.com/containerd/containerd/v2/client"

	"github.com/containerd/containerd/v2/core/sandbox"
	"github.com/containerd/errdefs"
)

// shimPins are records in containerd that keep shims alive.
type shimPins struct{ client *containerd.Client }

// pin makes containerd keep the shim, and with it the exit code, of a container that exits while containerd is down. At its
// start containerd reaps such a shim as a leak, unless a sandbox record has the same id. Containerd 1.6 has no sandbox
// records, so there the exit code is lost.
func (p shimPins) pin(ctx context.Context, id string) error {
	_, err := p.client.SandboxStore().Create(ctx, sandbox.Sandbox{
		ID: id, Runtime: sandbox.RuntimeOpts{Name: runtimeName}, Labels: map[string]string{labelPin: "true"},
	})
	if err == nil || errdefs.IsAlreadyExists(err) || errdefs.IsNotImplemented(err) {
		return nil
	}
	return fmt.Errorf("record that the shim is to be kept: %w", err)
}

// unpinShim undoes pin.
func (p shimPins) unpin(ctx context.Context, id string) error {
	err := p.client.SandboxStore().Delete(ctx, id)
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsNotImplemented(err) {
		return nil
	}
	return fmt.Errorf("release the shim: %w", err)
}

// unpinStale releases the shims of containers that no longer exist.
func (p shimPins) unpinStale(ctx context.Context, known map[string]bool) error {
	kept, err := p.client.SandboxStore().List(ctx, "labels."+quoted(labelPin))
	if errdefs.IsNotImplemented(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range kept {
		if !known[s.ID] {
			if err := p.unpin(ctx, s.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
