package doctor

import (
	"context"
	"fmt"
	"strings"
)

func checkUser(_ context.Context, h *Host) []Finding {
	if h.Machine.User() != 0 {
		return []Finding{failed("this is not root: several checks see less than there is", "run it with sudo; `pinion up` needs root too")}
	}
	return []Finding{ok("root")}
}

func checkKernel(_ context.Context, h *Host) []Finding {
	release, err := h.Machine.Release()
	if err != nil {
		return []Finding{failed(fmt.Sprintf("the kernel does not tell its release: %v", err), "run pinion on Linux")}
	}
	return []Finding{ok("Linux " + release)}
}

func checkCgroups(_ context.Context, h *Host) []Finding {
	groups, err := h.Machine.Cgroups()
	if err != nil {
		return []Finding{failed(err.Error(), "mount control groups (systemd does), with the controllers cpu, memory, devices and pids; inside a container, give that one the machine's /sys/fs/cgroup")}
	}
	version := "version 1: containers see no cgroup namespace of their own"
	if groups.Unified() {
		version = "version 2"
	}
	found := []Finding{ok(version)}
	if !groups.CanLimitProcesses() {
		found = append(found, failed("the pids controller is missing: a task can fill the machine with processes", "enable it: cgroup.controllers must list pids, or mount /sys/fs/cgroup/pids"))
	}
	if !groups.CanLimitSwap() {
		found = append(found, warning("the kernel does not limit swap of a group", "boot with swapaccount=1, if tasks set maxSwap or the machine has swap"))
	}
	return found
}

func checkOverlay(_ context.Context, h *Host) []Finding {
	if err := h.Machine.Overlay(existing(h.DataDir), false); err != nil {
		return []Finding{warning(fmt.Sprintf("overlayfs does not work in %s: %v; images are copied for each container, which is slow and takes space", existing(h.DataDir), err),
			"use a data directory on ext4 or xfs (--data-dir), and load the module overlay")}
	}
	return []Finding{ok("it works in " + existing(h.DataDir))}
}

func checkOpenat2(_ context.Context, h *Host) []Finding {
	if err := h.Machine.Openat2(); err != nil {
		return []Finding{failed(fmt.Sprintf("openat2: %v; volumes cannot be resolved safely, so tasks with host directories are refused", err), "use a kernel of 5.6 or newer; inside a container, allow the system call in its seccomp profile")}
	}
	return []Finding{ok("available")}
}

func checkReadOnlyMounts(_ context.Context, h *Host) []Finding {
	if err := h.Machine.RecursiveReadOnly(); err != nil {
		return []Finding{warning(fmt.Sprintf("mount_setattr: %v; a read-only volume with mounts below it is refused", err), "use a kernel of 5.12 or newer; inside a container, allow the system call in its seccomp profile")}
	}
	return []Finding{ok("recursive ones are available")}
}

func checkSeccomp(_ context.Context, h *Host) []Finding {
	if !strings.Contains(h.Machine.read("proc/sys/kernel/seccomp/actions_avail"), "errno") {
		return []Finding{warning("the kernel has no seccomp filters: containers run without one", "use a kernel with CONFIG_SECCOMP_FILTER")}
	}
	return []Finding{ok("filters are available")}
}

func checkAppArmor(_ context.Context, h *Host) []Finding {
	if h.Machine.read("sys/module/apparmor/parameters/enabled") != "Y" {
		return []Finding{ok("not enabled in this kernel; tasks run without a profile, as on most machines")}
	}
	return []Finding{ok("enabled")}
}

func checkUserNamespaces(_ context.Context, h *Host) []Finding {
	if most := h.Machine.read("proc/sys/user/max_user_namespaces"); most == "" || most == "0" {
		return []Finding{warning("the kernel makes no user namespaces", "set the sysctl user.max_user_namespaces, if tasks are to have them")}
	}
	if err := h.Machine.Overlay(existing(h.DataDir), true); err != nil {
		return []Finding{warning(fmt.Sprintf("overlayfs does not work in %s with the ids of a user namespace: %v; tasks of clusters whose setting userNamespaces is enabled do not run here", existing(h.DataDir), err),
			"use Linux 5.19 or newer and a data directory on ext4 or xfs, if tasks are to have them")}
	}
	return []Finding{ok("available")}
}

func checkUlimits(_ context.Context, h *Host) []Finding {
	if short := h.Machine.ShortUlimits(); len(short) > 0 {
		return []Finding{warning(fmt.Sprintf("without the capability SYS_RESOURCE pinion cannot give tasks unlimited %s: those that ask for it are refused, as RDMA and NCCL jobs do with memlock", strings.Join(short, ", ")),
			"start pinion as root with the capability SYS_RESOURCE (in a container: --cap-add SYS_RESOURCE), or raise its hard limits")}
	}
	return []Finding{ok("tasks can have unlimited ones")}
}

func checkIptables(_ context.Context, h *Host) []Finding {
	if err := h.Machine.Program("iptables", "/usr/sbin/iptables", "/sbin/iptables"); err != nil {
		return []Finding{warning("iptables is missing: containers on the bridge reach the host only, and publish no ports", "install the package iptables")}
	}
	return []Finding{ok("found")}
}
