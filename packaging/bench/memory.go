package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// settle is how long an idle host is left alone before its memory is read.
const settle = 10 * time.Second

func measureMemory(h *host) ([]figure, error) {
	time.Sleep(settle)
	pinion, err := residentMB(h.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(h.dir, "containerd", "containerd.pid"))
	if err != nil {
		return nil, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return nil, err
	}
	containerd, err := residentMB(pid)
	if err != nil {
		return nil, err
	}
	return []figure{
		{"idle memory: pinion (VmRSS)", fmt.Sprintf("%.0f MB", pinion), "-", "at most 60 MB"},
		{"idle memory: with its containerd", fmt.Sprintf("%.0f MB", pinion+containerd), fmt.Sprintf("containerd %.0f MB", containerd), "at most 110 MB"},
	}, nil
}
