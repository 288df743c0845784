package taskdef

import (
	"path"
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/linux"
)

// mountOption matches the mount options that ECS takes for a tmpfs.
var mountOption = lazyregexp.New(`^(defaults|ro|rw|suid|nosuid|dev|nodev|exec|noexec|sync|async|dirsync|remount|mand|nomand|atime|noatime|diratime|nodiratime|` +
	`bind|rbind|unbindable|runbindable|private|rprivate|shared|rshared|slave|rslave|relatime|norelatime|strictatime|nostrictatime|` +
	`(mode|uid|gid|nr_inodes|nr_blocks)=[0-9]+|mpol=[a-z0-9:,=-]+)$`)

// maxSwap is more than any machine has, in MiB, and far from what a number of bytes cannot say.
const maxSwap = 1 << 24

func checkLinuxParameters(c container) error {
	p := c.LinuxParameters
	if p == nil {
		return nil
	}
	if p.SharedMemorySize < 0 {
		return c.errorf("linuxParameters.sharedMemorySize", "linuxParameters.sharedMemorySize must not be negative: %d.", p.SharedMemorySize)
	}
	switch {
	case p.MaxSwap != nil && (*p.MaxSwap < 0 || *p.MaxSwap > maxSwap):
		return c.errorf("linuxParameters.maxSwap", "linuxParameters.maxSwap is from 0 to %d MiB, not %d.", maxSwap, *p.MaxSwap)
	case p.MaxSwap != nil && c.Memory == 0:
		return c.errorf("linuxParameters.maxSwap", "linuxParameters.maxSwap is what a container may use beside its memory: set memory too.")
	case p.Swappiness != nil && (*p.Swappiness < 0 || *p.Swappiness > linux.MaxSwappiness):
		return c.errorf("linuxParameters.swappiness", "linuxParameters.swappiness is from 0 to %d, not %d.", linux.MaxSwappiness, *p.Swappiness)
	}
	for i, t := range p.Tmpfs {
		path := field.Index("linuxParameters.tmpfs", i)
		if !strings.HasPrefix(t.ContainerPath, "/") || t.Size < 1 {
			return c.errorf(path, "linuxParameters.tmpfs needs an absolute containerPath and a size of at least 1 MiB.")
		}
		for _, option := range t.MountOptions {
			if !mountOption.MatchString(option) {
				return c.errorf(field.Join(path, "mountOptions"), "linuxParameters.tmpfs.mountOptions: %q is not one that ECS knows, such as ro, noexec or mode=1777.", option)
			}
		}
	}
	if err := checkDevices(c, p.Devices); err != nil {
		return err
	}
	if p.Capabilities == nil {
		return nil
	}
	for _, name := range slices.Concat(p.Capabilities.Add, p.Capabilities.Drop) {
		if !slices.Contains(linux.CapabilityNames, name) {
			return c.errorf("linuxParameters.capabilities", "linuxParameters.capabilities: %q is not a capability. Write ALL, or names such as SYS_PTRACE.", name)
		}
	}
	return nil
}

// maxDevices bounds the devices of a container.
const maxDevices = 100

// checkDevices refuses what can be a device of no host. Which hosts give a device is decided at placement.
func checkDevices(c container, devices []linux.Device) error {
	if len(devices) > maxDevices {
		return c.errorf("linuxParameters.devices", "linuxParameters.devices: a container can have %d, not %d.", maxDevices, len(devices))
	}
	for i, d := range devices {
		at := field.Index("linuxParameters.devices", i)
		if err := linux.CheckDevice(d.HostPath); err != nil {
			return c.errorf(field.Join(at, "hostPath"), "linuxParameters.devices.hostPath: %v.", err)
		}
		if !validPath(d.Path()) || path.Clean(d.Path()) != d.Path() || d.Path() == "/" {
			return c.errorf(field.Join(at, "containerPath"), "linuxParameters.devices.containerPath must be an absolute path without dots of at most %d bytes, not %.300q.", maxPath, d.Path())
		}
		if slices.ContainsFunc(devices[:i], func(other linux.Device) bool { return other.Path() == d.Path() }) {
			return c.errorf(at, "linuxParameters.devices has %s twice in the container.", d.Path())
		}
		for _, permission := range d.Permissions {
			if !slices.Contains(linux.DevicePermissions, permission) {
				return c.errorf(field.Join(at, "permissions"), "linuxParameters.devices.permissions must be of %s, not %q.", strings.Join(linux.DevicePermissions, ", "), permission)
			}
		}
	}
	return nil
}

// ipcControls are the kernel parameters of the namespace for System V IPC and POSIX message queues.
var ipcControls = []string{"kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced"}

// controlName matches the name of a kernel parameter: words with dots between them.
var controlName = lazyregexp.New(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$`)

// checkSystemControls lets a container change kernel parameters of namespaces that are its own.
func checkSystemControls(c container, networkMode, ipcMode string) error {
	for i, control := range c.SystemControls {
		path, name := field.Index("systemControls", i), control.Namespace
		network := strings.HasPrefix(name, "net.")
		ipc := strings.HasPrefix(name, "fs.mqueue.") || slices.Contains(ipcControls, name)
		switch {
		case !network && !ipc || !controlName.MatchString(name):
			return c.errorf(field.Join(path, "namespace"), "systemControls.namespace must be net.*, fs.mqueue.* or one of %s, not %q.", strings.Join(ipcControls, ", "), name)
		case network && networkMode == "host":
			return c.errorf(path, "systemControls %s is not allowed with networkMode host: it would change the host.", name)
		case ipc && ipcMode == "host":
			return c.errorf(path, "systemControls %s is not allowed with ipcMode host: it would change the host.", name)
		case control.Value == "" || strings.Contains(control.Value, "\x00"):
			return c.errorf(field.Join(path, "value"), "systemControls %q needs a value.", name)
		}
	}
	return nil
}
