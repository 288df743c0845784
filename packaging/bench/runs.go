package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// measureRuns times `pinion run` attached, from the start of its process to its end, and in turns with it `ctr run --rm` on the same
// containerd: same image, same command, same CPU shares (without --cpus a task gets the fewest, as on ECS).
func measureRuns(h *host, repeats int, r *results) error {
	ctr, err := buildCtr()
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(ctr))
	socket := filepath.Join(h.dir, "containerd", "containerd.sock")
	var ours, reference []time.Duration
	for n := range repeats + 1 {
		took, err := timeCommand(h.binary, "--data-dir", h.dir, "run", "--cpus", "1", "--network", "none", "pinion/self", "--", "/pinion", "version")
		if err != nil {
			return err
		}
		straight, err := timeCommand(ctr, "--address", socket, "--namespace", "pinion", "run", "--rm", "docker.io/pinion/self:latest", fmt.Sprintf("bench-run-%d", n), "/pinion", "version")
		if err != nil {
			return err
		}
		if n > 0 { // the first one unpacks the image
			ours, reference = append(ours, took), append(reference, straight)
		}
	}
	return r.add("Host/run", repeats, append(percentiles("", ours), percentiles("ctr-", reference)...)...)
}

// buildCtr builds containerd's own client, of the version that travels in pinion, in a directory of its own.
func buildCtr() (string, error) {
	dir, err := os.MkdirTemp("", "pinion-bench-ctr-")
	if err != nil {
		return "", err
	}
	ctr := filepath.Join(dir, "ctr")
	if out, err := exec.Command("go", "build", "-o", ctr, "github.com/containerd/containerd/v2/cmd/ctr").CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("building ctr: %w\n%s", err, out)
	}
	return ctr, nil
}

// timeCommand runs a command to its end, which must be a good one.
func timeCommand(name string, args ...string) (time.Duration, error) {
	begin := time.Now()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return time.Since(begin), nil
}
