package ecs

import (
	"regexp"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// minMemory is the least memory in MiB that a container can start with.
const minMemory = 6

// checkContainer holds the rules for one container by itself.
func checkContainer(c *spec.ContainerDefinition, networkMode, ipcMode string) error {
	if c.Name == "" {
		return wire.Errorf(wire.Client, "Container.name should not be null or empty.")
	}
	if !resourceName.MatchString(c.Name) {
		return wire.Errorf(wire.Client, "Container.name contains invalid characters: 1 to 255 letters, digits, hyphens and underscores are allowed.")
	}
	if c.Image == "" {
		return wire.Errorf(wire.Client, "Container.image should not be null or empty.")
	}
	if strings.ContainsAny(c.Image, " \t\r\n") {
		return wire.Errorf(wire.Client, "Container '%s': image %q must not contain blanks.", c.Name, c.Image)
	}
	for _, check := range []func(*spec.ContainerDefinition) error{
		checkSizes, checkTimeouts, checkEnvironment, checkUlimits, checkLinuxParameters, checkLogConfiguration, checkDNS, checkVersionConsistency,
	} {
		if err := check(c); err != nil {
			return err
		}
	}
	if err := checkSystemControls(c, networkMode, ipcMode); err != nil {
		return err
	}
	return checkPorts(c, networkMode)
}

// maxInteger bounds what the service model calls Integer.
const maxInteger = 1<<31 - 1

func checkSizes(c *spec.ContainerDefinition) error {
	invalid := func(format string, args ...any) error {
		return wire.Errorf(wire.Client, "Invalid setting for container '%s'. "+format, append([]any{c.Name}, args...)...)
	}
	switch {
	case max(c.CPU, c.Memory, c.MemoryReservation) > maxInteger:
		return invalid("'cpu', 'memory' and 'memoryReservation' must be at most %d.", maxInteger)
	case c.CPU < 0:
		return invalid("'cpu' must not be negative: %d.", c.CPU)
	case c.Memory != 0 && c.Memory < minMemory:
		return invalid("'memory' must be at least %d MiB, not %d.", minMemory, c.Memory)
	case c.MemoryReservation != 0 && c.MemoryReservation < minMemory:
		return invalid("'memoryReservation' must be at least %d MiB, not %d.", minMemory, c.MemoryReservation)
	case c.Memory != 0 && c.Memory <= c.MemoryReservation:
		return invalid("'memory' must be greater than 'memoryReservation': %d is not greater than %d.", c.Memory, c.MemoryReservation)
	}
	return nil
}

func checkEnvironment(c *spec.ContainerDefinition) error {
	if name, bad := badVariable(c.Environment); bad {
		return wire.Errorf(wire.Client, "Container '%s': %q is not the name of an environment variable.", c.Name, name)
	}
	return nil
}

// badVariable finds a name that no environment can hold. Values may be anything without a NUL.
func badVariable(environment []spec.KeyValue) (string, bool) {
	for _, v := range environment {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.Contains(v.Value, "\x00") {
			return v.Name, true
		}
	}
	return "", false
}

var ulimitNames = []string{"core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc", "rss", "rtprio", "rttime", "sigpending", "stack"}

func checkUlimits(c *spec.ContainerDefinition) error {
	for _, u := range c.Ulimits {
		if !slices.Contains(ulimitNames, u.Name) {
			return wire.Errorf(wire.Client, "Container '%s': ulimits.name must be one of %s, not %q.", c.Name, strings.Join(ulimitNames, ", "), u.Name)
		}
		if u.SoftLimit < -1 || u.HardLimit < -1 || (u.HardLimit != -1 && (u.SoftLimit > u.HardLimit || u.SoftLimit == -1)) {
			return wire.Errorf(wire.Client, "Container '%s': ulimit %s: softLimit %d must not be above hardLimit %d (-1 is no limit).", c.Name, u.Name, u.SoftLimit, u.HardLimit)
		}
	}
	return nil
}

func checkLinuxParameters(c *spec.ContainerDefinition) error {
	p := c.LinuxParameters
	if p == nil {
		return nil
	}
	if p.InitProcessEnabled != nil && *p.InitProcessEnabled {
		return wire.Errorf(wire.Client, "Container '%s': linuxParameters.initProcessEnabled is not supported by Pinion yet: run an init such as tini in the image.", c.Name)
	}
	if p.SharedMemorySize < 0 {
		return wire.Errorf(wire.Client, "Container '%s': linuxParameters.sharedMemorySize must not be negative: %d.", c.Name, p.SharedMemorySize)
	}
	for _, t := range p.Tmpfs {
		if !strings.HasPrefix(t.ContainerPath, "/") || t.Size < 1 {
			return wire.Errorf(wire.Client, "Container '%s': linuxParameters.tmpfs needs an absolute containerPath and a size of at least 1 MiB.", c.Name)
		}
		for _, option := range t.MountOptions {
			if !mountOption.MatchString(option) {
				return wire.Errorf(wire.Client, "Container '%s': linuxParameters.tmpfs.mountOptions: %q is not one that ECS knows, such as ro, noexec or mode=1777.", c.Name, option)
			}
		}
	}
	if p.Capabilities == nil {
		return nil
	}
	for _, name := range slices.Concat(p.Capabilities.Add, p.Capabilities.Drop) {
		if !slices.Contains(linuxCapabilities, name) {
			return wire.Errorf(wire.Client, "Container '%s': linuxParameters.capabilities: %q is not a capability. Write ALL, or names such as SYS_PTRACE.", c.Name, name)
		}
	}
	return nil
}

// linuxCapabilities are the kernel's, as ECS writes them.
var linuxCapabilities = []string{
	"ALL", "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN", "DAC_OVERRIDE",
	"DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE", "MAC_ADMIN",
	"MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "PERFMON", "SETFCAP", "SETGID",
	"SETPCAP", "SETUID", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE",
	"SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "SYSLOG", "WAKE_ALARM",
}

func checkLogConfiguration(c *spec.ContainerDefinition) error {
	if c.LogConfiguration == nil {
		return nil
	}
	driver, known := spec.FindLogDriver(c.LogConfiguration.LogDriver)
	if !known {
		return wire.Errorf(wire.Client, "Container '%s': logConfiguration.logDriver %q is not supported by Pinion yet: use awslogs or json-file, whose logs the host keeps.", c.Name, c.LogConfiguration.LogDriver)
	}
	for _, option := range driver.Options {
		if value, given := c.LogConfiguration.Options[option.Name]; given && option.Valid != nil && !option.Valid(value) {
			return wire.Errorf(wire.Client, "Container '%s': logConfiguration.options %s must be %s, not %q.", c.Name, option.Name, option.Want, value)
		}
	}
	return nil
}

var (
	// mountOption is one of those that ECS takes for a memory file system.
	mountOption = regexp.MustCompile(`^(defaults|ro|rw|suid|nosuid|dev|nodev|exec|noexec|sync|async|dirsync|remount|mand|nomand|atime|noatime|diratime|nodiratime|` +
		`bind|rbind|unbindable|runbindable|private|rprivate|shared|rshared|slave|rslave|relatime|norelatime|strictatime|nostrictatime|` +
		`(mode|uid|gid|nr_inodes|nr_blocks)=[0-9]+|mpol=[a-z0-9:,=-]+)$`)
	// portName is the name of a published port.
	portName = regexp.MustCompile(`^[a-z0-9_][a-z0-9_-]{0,63}$`)
)

func checkPorts(c *spec.ContainerDefinition, networkMode string) error {
	if networkMode == "none" && len(c.PortMappings) > 0 {
		return wire.Errorf(wire.Client, "Container '%s': portMappings must be empty with networkMode none.", c.Name)
	}
	for _, p := range c.PortMappings {
		switch {
		case p.ContainerPort < 1 || p.ContainerPort > 65535:
			return wire.Errorf(wire.Client, "Container '%s': portMappings.containerPort must be 1 to 65535, not %d.", c.Name, p.ContainerPort)
		case p.HostPort < 0 || p.HostPort > 65535:
			return wire.Errorf(wire.Client, "Container '%s': portMappings.hostPort must be 0 to 65535, not %d.", c.Name, p.HostPort)
		case p.Protocol != "tcp" && p.Protocol != "udp":
			return wire.Errorf(wire.Client, "Container '%s': portMappings.protocol must be tcp or udp, not %q.", c.Name, p.Protocol)
		case p.Name != "" && !portName.MatchString(p.Name):
			return wire.Errorf(wire.Client, "Container '%s': portMappings.name must be 1 to 64 lower-case letters, digits, hyphens and underscores, not %q.", c.Name, p.Name)
		case p.AppProtocol != "" && !slices.Contains([]string{"http", "http2", "grpc"}, p.AppProtocol):
			return wire.Errorf(wire.Client, "Container '%s': portMappings.appProtocol must be http, http2 or grpc, not %q.", c.Name, p.AppProtocol)
		case networkMode == "host" && p.HostPort != p.ContainerPort:
			return wire.Errorf(wire.Client, "Container '%s': with networkMode host, hostPort must be empty or the same as containerPort %d, not %d.", c.Name, p.ContainerPort, p.HostPort)
		}
	}
	return nil
}
