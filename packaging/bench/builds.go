package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// measureBuilds times `make build` with nothing to do and, when asked, from empty caches.
func measureBuilds(_ context.Context, o options, r *results) error {
	if _, err := build(); err != nil { // so that there is nothing to do for the one that is timed
		return err
	}
	info, err := os.Stat("bin/pinion")
	if err != nil {
		return fmt.Errorf("`make build` made no program: %w", err)
	}
	unchanged, err := build()
	if err != nil {
		return err
	}
	if err := r.add("Build", 1, measured(float64(info.Size()), "binary-B"), took("unchanged", unchanged)); err != nil || !o.cold {
		return err
	}
	cold, err := coldBuild()
	if err != nil {
		return err
	}
	return r.add("Build/cold", 1, perOp(cold))
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
