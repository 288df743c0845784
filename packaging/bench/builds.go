package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// measureBuilds times `make build` with nothing to do and, when asked, from empty caches.
func measureBuilds(_ context.Context, o options) ([]figure, error) {
	if _, err := build(); err != nil { // so that there is nothing to do for the one that is timed
		return nil, err
	}
	info, err := os.Stat("bin/pinion")
	if err != nil {
		return nil, fmt.Errorf("`make build` made no program: %w", err)
	}
	again, err := build()
	if err != nil {
		return nil, err
	}
	figures := []figure{
		{"bin/pinion", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), "-", "at most 75 MB"},
		{"make build, nothing changed", again.Round(10 * time.Millisecond).String(), "-", "at most 5 s"},
	}
	if !o.cold {
		return figures, nil
	}
	took, err := coldBuild()
	if err != nil {
		return nil, err
	}
	return append(figures, figure{"make build, cold", took.Round(time.Second).String(), "-", "at most 8 min"}), nil
}

func build() (time.Duration, error) {
	cmd := exec.Command("make", "build")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	begin := time.Now()
	err := cmd.Run()
	return time.Since(begin), err
}

// coldBuild builds a copy of what is committed, with an empty build cache; modules are taken as downloaded.
func coldBuild() (time.Duration, error) {
	scratch, err := os.MkdirTemp("", "pinion-cold-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	if out, err := exec.Command("git", "clone", "--quiet", ".", scratch+"/tree").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("git clone: %w: %s", err, out)
	}
	cmd := exec.Command("make", "-C", scratch+"/tree", "build")
	cmd.Env = append(os.Environ(), "GOCACHE="+scratch+"/cache")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	begin := time.Now()
	err = cmd.Run()
	return time.Since(begin), err
}
