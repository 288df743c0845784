package containerd_test

import (
	"context"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/gpu"
	"pinion/gpu/sim"
	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/node/runtime/runtimetest"
)

// withSimulatedGPUs gives the host a simulated GPU machine.
func withSimulatedGPUs(t *testing.T, spec string) (devices []gpu.Device, change func(*containerd.Config)) {
	t.Helper()
	source, err := sim.Open(spec, shortDir(t), "/bin/busybox")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { source.Close() })
	inventory, err := source.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return inventory.Devices, func(c *containerd.Config) {
		c.CDI = func(ctx context.Context) (string, []byte, error) { return source.CDI(ctx) }
	}
}

func TestContainerdKeepsTheContract(t *testing.T) {
	devices, withGPUs := withSimulatedGPUs(t, "2xh100")
	h := newHost(t, withGPUs)
	addr := containerdtest.Registry(t, map[string]v1.Image{"busybox:1": containerdtest.Busybox(t)})
	var harness func() runtimetest.Harness
	harness = func() runtimetest.Harness {
		return runtimetest.Harness{
			Images: h.runtime, Containers: h.runtime, Execer: h.runtime, Image: addr + "/busybox:1",
			GPUs: []string{devices[0].UUID, devices[1].UUID},
			Reopen: func(t *testing.T) runtimetest.Harness {
				h.runtime.Close()
				h.open()
				return harness()
			},
		}
	}
	runtimetest.Run(t, func(*testing.T) runtimetest.Harness { return harness() })
}
