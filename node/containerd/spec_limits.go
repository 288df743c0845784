package containerd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"pinion/node/containerd/cgroup"
	"pinion/raftfsm/linux"
	"pinion/raftfsm/spec"
)

const (
	openFiles = 65536 // default limit of open files, if the host's own limit allows as many
	unlimited = math.MaxUint64
)

// resources sets the limits of memory and processes, and the CPU weight within the task; the task's own limits are set on its cgroup.
func (b *specBuilder) resources(_ context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
	def, r := b.spec.Def, s.Linux.Resources
	shares := uint64(max(def.CPU, cgroup.MinShares))
	r.CPU = &specs.LinuxCPU{Shares: &shares}
	r.Memory = &specs.LinuxMemory{}
	if err := b.swap(r.Memory); err != nil {
		return err
	}
	if def.Memory > 0 {
		limit := def.Memory << 20
		r.Memory.Limit = &limit
	}
	if most := b.limits.processes(len(b.spec.GPUs)); most > 0 && b.cgroups.CanLimitProcesses() {
		r.Pids = &specs.LinuxPids{Limit: &most}
	}
	if def.MemoryReservation > 0 {
		reservation := def.MemoryReservation << 20
		r.Memory.Reservation = &reservation
	}
	return nil
}

// swap sets how much memory and swap the container may use together. Without a word of its definition it is twice its memory, as on ECS. Version 2 of control
// groups has no swappiness, and there it counts for nothing, as with Docker.
func (b *specBuilder) swap(m *specs.LinuxMemory) error {
	def := b.spec.Def
	both := 2 * def.Memory << 20
	if p := def.LinuxParameters; p != nil && p.MaxSwap != nil {
		if !b.cgroups.CanLimitSwap() {
			return errors.New(linux.SwapRefusal(def.Name, b.spec.Task.HostID))
		}
		both = (def.Memory + *p.MaxSwap) << 20
		if !b.cgroups.Unified() {
			m.Swappiness = new(uint64(linux.DefaultSwappiness))
			if p.Swappiness != nil {
				*m.Swappiness = uint64(*p.Swappiness)
			}
		}
	}
	if def.Memory > 0 && b.cgroups.CanLimitSwap() {
		m.Swap = &both
	}
	return nil
}

// rlimits returns the definition's ulimits; -1 is unlimited.
func rlimits(ulimits []spec.Ulimit) []specs.POSIXRlimit {
	files := uint64(openFiles)
	var own unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &own) == nil {
		files = min(files, own.Max)
	}
	limits := []specs.POSIXRlimit{{Type: "RLIMIT_NOFILE", Soft: files, Hard: files}}
	for _, u := range ulimits {
		limit := specs.POSIXRlimit{Type: "RLIMIT_" + strings.ToUpper(u.Name), Soft: rlimit(u.SoftLimit), Hard: rlimit(u.HardLimit)}
		limits = slices.DeleteFunc(limits, func(l specs.POSIXRlimit) bool { return l.Type == limit.Type })
		limits = append(limits, limit)
	}
	return limits
}

func rlimit(value int64) uint64 {
	if value < 0 {
		return unlimited
	}
	return uint64(value)
}

// capabilities adds to and removes from the default set.
func (b *specBuilder) capabilities(ctx context.Context, client oci.Client, c *containers.Container, s *oci.Spec) error {
	if isTrue(b.spec.Def.Privileged) {
		return oci.WithPrivileged(ctx, client, c, s)
	}
	if b.spec.Def.LinuxParameters == nil || b.spec.Def.LinuxParameters.Capabilities == nil {
		return nil
	}
	change := b.spec.Def.LinuxParameters.Capabilities
	if slices.ContainsFunc(change.Drop, isAll) {
		if err := oci.WithCapabilities(nil)(ctx, client, c, s); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(change.Add, isAll) {
		if err := oci.WithAllKnownCapabilities(ctx, client, c, s); err != nil {
			return err
		}
	}
	if err := oci.WithAddedCapabilities(capabilityNames(change.Add))(ctx, client, c, s); err != nil {
		return fmt.Errorf("linuxParameters.capabilities.add: %w", err)
	}
	return oci.WithDroppedCapabilities(capabilityNames(change.Drop))(ctx, client, c, s)
}

func isAll(name string) bool { return strings.EqualFold(name, "ALL") }

// capabilityNames returns names in the form of the OCI spec, "CAP_SYS_ADMIN"; the caller handles ALL.
func capabilityNames(names []string) []string {
	var full []string
	for _, name := range names {
		if !isAll(name) {
			full = append(full, "CAP_"+strings.TrimPrefix(strings.ToUpper(name), "CAP_"))
		}
	}
	return full
}
