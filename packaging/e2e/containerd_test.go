package e2e

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/namespaces"

	"pinion/node/containerd/containerdtest"
	"pinion/node/containerd/daemon"
)

// TestAHostCanUseTheMachinesOwnContainerd runs a task on a containerd that Pinion did not start, and leaves nothing in
// it; the daemon is still there afterwards.
func TestAHostCanUseTheMachinesOwnContainerd(t *testing.T) {
	tools := containerdtest.FindTools(t)
	daemon, err := daemon.Start(t.Context(), daemon.Config{Containerd: tools.Containerd, Shim: tools.Shim, Runc: tools.Runc, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := daemon.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	h := newHost(t, "--gpus", "sim:2xt4", "--containerd", daemon.Address())
	h.start(t)
	out := h.pinion(t, "run", "--gpus", "1", "pinion/self")
	if strings.Count(out, "/dev/nvidia") != 3 { // the GPU, nvidiactl, nvidia-uvm
		t.Errorf("the container saw\n%s", out)
	}
	kept := h.pinion(t, "run", "-d", "--gpus", "1", "pinion/self", "--", "/pinion", "pause")
	h.waitStatus(t, strings.TrimSpace(kept), "RUNNING")
	h.down(t)
	if left := containersIn(t, daemon.Address()); left != 0 {
		t.Errorf("%d containers are left in the machine's containerd", left)
	}
}

// containersIn counts the containers of all namespaces of a daemon.
func containersIn(t *testing.T, address string) int {
	t.Helper()
	c, err := client.New(address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, err := c.NamespaceService().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, name := range names {
		containers, err := c.Containers(namespaces.WithNamespace(t.Context(), name))
		if err != nil {
			t.Fatal(err)
		}
		count += len(containers)
	}
	return count
}
