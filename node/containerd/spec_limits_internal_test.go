package containerd

import (
	"testing"

	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"

	"pinion/node/containerd/cgroup"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// kernel is one whose control groups are of this kind.
type kernel struct {
	cgroup.Manager
	unified, swap bool
}

func (k kernel) Unified() bool           { return k.unified }
func (k kernel) CanLimitSwap() bool      { return k.swap }
func (k kernel) CanLimitProcesses() bool { return false }

// The limit of memory and swap together is twice the memory unless maxSwap says otherwise; what the kernel cannot keep is refused.
func TestSwapIsLimitedAsOnECS(t *testing.T) {
	const mib = 1 << 20
	v1, v2, off := kernel{swap: true}, kernel{swap: true, unified: true}, kernel{}
	for name, c := range map[string]struct {
		on         kernel
		parameters *spec.LinuxParameters
		both       int64 // MiB, 0: none
		swappiness int64 // -1: none
		refused    bool
	}{
		"no word":                         {v1, nil, 128, -1, false},
		"no word and no accounting":       {off, &spec.LinuxParameters{}, 0, -1, false},
		"some":                            {v1, &spec.LinuxParameters{MaxSwap: new(int64(10))}, 74, 60, false},
		"none":                            {v2, &spec.LinuxParameters{MaxSwap: new(int64(0))}, 64, -1, false},
		"some, seldom":                    {v1, &spec.LinuxParameters{MaxSwap: new(int64(10)), Swappiness: new(int64(0))}, 74, 0, false},
		"swappiness on version 2":         {v2, &spec.LinuxParameters{MaxSwap: new(int64(10)), Swappiness: new(int64(5))}, 74, -1, false},
		"swappiness without a limit":      {v1, &spec.LinuxParameters{Swappiness: new(int64(5))}, 128, -1, false},
		"a limit that the kernel ignores": {off, &spec.LinuxParameters{MaxSwap: new(int64(10))}, 0, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &specBuilder{cgroups: c.on, spec: runtime.ContainerSpec{Task: &spec.Task{}, Def: &spec.ContainerDefinition{Name: "main", Memory: 64, LinuxParameters: c.parameters}}}
			s := &oci.Spec{Linux: &specs.Linux{Resources: &specs.LinuxResources{}}}
			if err := b.resources(t.Context(), nil, nil, s); (err != nil) != c.refused {
				t.Fatal(err)
			}
			both, swappiness := int64(0), int64(-1)
			if m := s.Linux.Resources.Memory; m.Swap != nil {
				both = *m.Swap / mib
			}
			if m := s.Linux.Resources.Memory; m.Swappiness != nil {
				swappiness = int64(*m.Swappiness)
			}
			if both != c.both || swappiness != c.swappiness {
				t.Errorf("%d MiB, swappiness %d; not %d, %d", both, swappiness, c.both, c.swappiness)
			}
		})
	}
}
