package linux

import "slices"

// CapabilityNames are the kernel's capabilities, as ECS writes them.
var CapabilityNames = []string{
	"ALL", "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN", "DAC_OVERRIDE",
	"DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE", "MAC_ADMIN",
	"MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "PERFMON", "SETFCAP", "SETGID",
	"SETPCAP", "SETUID", "SYS_ADMIN", "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE",
	"SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "SYSLOG", "WAKE_ALARM",
}

// contained are those that every host gives: docker's defaults, and those whose effect ends at the container's own
// namespaces and control group. SYS_NICE is not of them: a process of real-time priority keeps the host's own from running.
var contained = []string{
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID",
	"SETPCAP", "SETUID", "SYS_CHROOT",
	"IPC_LOCK", "IPC_OWNER", "LEASE", "NET_BROADCAST", "SYS_PTRACE",
}

// Contained reports whether every host gives the capability. One that is not known is not given unless the host allows it.
func Contained(capability string) bool { return slices.Contains(contained, capability) }

// opensDevices are the capabilities with which a process gets at devices that its control group keeps from it.
var opensDevices = []string{"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_RAWIO", "BPF", "DAC_READ_SEARCH"}

// OpensDevices reports whether a process with the capability gets at devices that its control group keeps from it.
func OpensDevices(capability string) bool { return slices.Contains(opensDevices, capability) }
