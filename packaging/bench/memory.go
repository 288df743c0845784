package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// idleBefore is the rest of an idle host before its memory is read.
const idleBefore = 10 * time.Second

// measureMemory reads the memory of a host that has run nothing yet.
func measureMemory(h *host, _ int, r *results) error {
	time.Sleep(idleBefore)
	pinion, err := residentBytes(h.cmd.Process.Pid)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(h.dir, "containerd", "containerd.pid"))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return err
	}
	containerd, err := residentBytes(pid)
	if err != nil {
		return err
	}
	return r.add("Host/idle", 1, measured(pinion, "pinion-B"), measured(containerd, "containerd-B"), measured(pinion+containerd, "total-B"))
}
