package containerd

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"

	"pinion/node/runtime"
)

const (
	hostNetwork = "host"
	noNetwork   = "none"
)

// namespaces sets which namespaces the container shares with the host. With a network namespace of its own it may use low
// ports and ping without privileges, as in docker, unless its system controls say otherwise.
func (b *specBuilder) namespaces(ctx context.Context, client oci.Client, c *containers.Container, s *oci.Spec) error {
	var options []oci.SpecOpts
	if b.userns != "" {
		ids := []specs.LinuxIDMapping{{HostID: b.spec.IDs.First, Size: runtime.IDRangeSize}}
		options = append(options, oci.WithUserNamespace(ids, ids), oci.WithLinuxNamespace(specs.LinuxNamespace{Type: specs.UserNamespace, Path: b.userns}))
	}
	switch b.spec.Network {
	case hostNetwork:
		options = append(options, oci.WithHostNamespace(specs.NetworkNamespace))
	case noNetwork:
	default:
		options = append(options, oci.WithLinuxNamespace(specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: b.spec.Network}))
	}
	if b.spec.Network != hostNetwork {
		groups := 1<<31 - 1
		if b.userns != "" {
			groups = runtime.IDRangeSize - 1 // the kernel refuses one that has no id of the host
		}
		s.Linux.Sysctl = map[string]string{"net.ipv4.ip_unprivileged_port_start": "0", "net.ipv4.ping_group_range": fmt.Sprint("0 ", groups)}
	}
	for _, control := range b.spec.Def.SystemControls {
		if s.Linux.Sysctl == nil {
			s.Linux.Sysctl = map[string]string{}
		}
		s.Linux.Sysctl[control.Namespace] = control.Value
	}
	if b.spec.TaskDef.PIDMode == "host" {
		options = append(options, oci.WithHostNamespace(specs.PIDNamespace))
	}
	if b.spec.TaskDef.IPCMode == "host" {
		options = append(options, oci.WithHostNamespace(specs.IPCNamespace))
	}
	options = append(options, b.shared.share()...)
	if b.cgroups.Unified() {
		options = append(options, oci.WithLinuxNamespace(specs.LinuxNamespace{Type: specs.CgroupNamespace}))
	}
	return oci.ApplyOpts(ctx, client, c, s, options...)
}

// mounts adds to the default mounts: cgroups (read-only), the task's volumes, host names, and tmpfs.
func (b *specBuilder) mounts(_ context.Context, _ oci.Client, _ *containers.Container, s *oci.Spec) error {
	access := "ro"
	if isTrue(b.spec.Def.Privileged) {
		access = "rw"
	}
	b.mount(s, specs.Mount{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev", "relatime", access}})
	for destination, source := range map[string]string{"/etc/hosts": b.spec.HostsFile, "/etc/resolv.conf": b.spec.ResolvFile} {
		if source == "" {
			continue
		}
		if err := b.bind(s, source, destination, false); err != nil {
			return err
		}
	}
	b.sharedMemory(s)
	if p := b.spec.Def.LinuxParameters; p != nil {
		for _, t := range p.Tmpfs {
			b.mount(s, memoryFileSystem(t.ContainerPath, t.Size, append([]string{"nosuid", "nodev"}, t.MountOptions...)))
		}
	}
	for _, m := range b.spec.Def.MountPoints {
		volume, known := b.spec.Volumes[m.SourceVolume]
		if !known {
			return fmt.Errorf("mount point %s: the task has no volume %q", m.ContainerPath, m.SourceVolume)
		}
		var err error
		if volume.Host == nil {
			err = b.bind(s, volume.Path, m.ContainerPath, m.ReadOnly)
		} else {
			err = b.attach(s, volume.Host, m.ContainerPath, m.ReadOnly)
		}
		if err != nil {
			return fmt.Errorf("mount point %s: volume %s: %w", m.ContainerPath, m.SourceVolume, err)
		}
	}
	// They come last, a directory before what is in it: no volume lies over them.
	for _, destination := range slices.Sorted(maps.Keys(b.spec.OwnFiles)) {
		if err := b.bind(s, b.spec.OwnFiles[destination], destination, true); err != nil {
			return err
		}
	}
	return nil
}

// sharedMemory mounts /dev/shm: the task's, none with ipcMode none, as in Docker, or one of the container's own.
func (b *specBuilder) sharedMemory(s *oci.Spec) {
	const path = "/dev/shm"
	switch p := b.spec.Def.LinuxParameters; {
	case b.shared.sharedMemory != "":
		b.mount(s, bindMount(b.shared.sharedMemory, path))
	case b.spec.TaskDef.IPCMode == "none":
		s.Mounts = slices.DeleteFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == path })
	case p != nil && p.SharedMemorySize > 0:
		b.mount(s, memoryFileSystem(path, p.SharedMemorySize, []string{"nosuid", "noexec", "nodev", "mode=1777"}))
	}
}

// bind mounts a file or directory of Pinion's own, which no other task can change. In a user namespace its files keep their ids too.
func (b *specBuilder) bind(s *specs.Spec, source, destination string, readOnly bool) error {
	if b.userns != "" {
		return b.attach(s, ownFile(source), destination, readOnly)
	}
	access := "rw"
	if readOnly {
		access = "ro"
	}
	b.mount(s, specs.Mount{Destination: destination, Type: "bind", Source: source, Options: []string{"rbind", "rprivate", access}})
	return nil
}

// attach mounts a volume of the host. The mount has its options already, those of the host's own mounts among them: a remount for "ro"
// or "rw" would lose these.
func (b *specBuilder) attach(s *specs.Spec, volume runtime.HostVolume, destination string, readOnly bool) error {
	source, err := b.volumes.attach(volume, readOnly)
	if err != nil {
		return err
	}
	b.mount(s, bindMount(source, destination))
	return nil
}

// bindMount is the bind mount of a source that has its options already.
func bindMount(source, destination string) specs.Mount {
	return specs.Mount{Destination: destination, Type: "bind", Source: source, Options: []string{"rbind", "rprivate"}}
}

// mount adds a mount, and replaces an earlier one at the same path.
func (b *specBuilder) mount(s *oci.Spec, m specs.Mount) {
	m.Destination = filepath.Clean(m.Destination)
	s.Mounts = slices.DeleteFunc(s.Mounts, func(other specs.Mount) bool { return other.Destination == m.Destination })
	s.Mounts = append(s.Mounts, m)
}

func memoryFileSystem(path string, sizeMiB int64, options []string) specs.Mount {
	return specs.Mount{Destination: path, Type: "tmpfs", Source: "tmpfs", Options: append(options, fmt.Sprintf("size=%dm", sizeMiB))}
}
