package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// preflight checks the requirements of a host before anything is started.
type preflight struct {
	system  string // GOOS
	user    int    // effective user id
	cgroups string // where control groups are mounted
}

func localMachine() preflight {
	return preflight{system: runtime.GOOS, user: os.Geteuid(), cgroups: "/sys/fs/cgroup"}
}

// check returns the first unmet requirement, and what to do about it.
func (m preflight) check() error {
	if m.system != "linux" {
		return fmt.Errorf("this needs Linux: containers are a feature of its kernel. Run it on a Linux machine, and connect to that with --host")
	}
	if m.user != 0 {
		return errors.New("this needs root: pinion creates containers and namespaces. Run it with sudo")
	}
	if entries, err := os.ReadDir(m.cgroups); err != nil || len(entries) == 0 {
		return fmt.Errorf("no control groups are mounted at %s, so containers cannot be limited. Mount them (systemd does), or, inside a container, start that one with the machine's %s", m.cgroups, m.cgroups)
	}
	return nil
}
