package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// host is a `pinion up` with a scratch data directory and eight simulated GPUs.
type host struct {
	*client
	binary string
	cmd    *exec.Cmd
}

// measureHost measures what one host does that is alone.
func measureHost(_ context.Context, o options, r *results) error {
	h, err := startHost(o.binary)
	if err != nil {
		return err
	}
	defer h.down()
	// Memory first: idle means that nothing has run yet.
	for _, measure := range []func(*host, int, *results) error{measureMemory, measureStarts, measureRuns, measureReplies, measureMetadata, measureGPUFaults, measureRestarts} {
		if err := measure(h, o.repeats, r); err != nil {
			return err
		}
	}
	return nil
}

func startHost(binary string) (*host, error) {
	dir, err := os.MkdirTemp("", "pinion-bench-")
	if err != nil {
		return nil, err
	}
	c, err := newClient(dir)
	if err != nil {
		return nil, err
	}
	h := &host{client: c, binary: binary}
	if err := h.start(); err != nil {
		h.down()
		return nil, err
	}
	return h, nil
}

// start runs `pinion up` until it says that it is ready.
func (h *host) start() error {
	h.cmd = exec.Command(h.binary, "--data-dir", h.dir, "up", "--listen", "127.0.0.1:0", "--gpus", "sim:8xh100")
	h.cmd.Stderr = os.Stderr
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := h.cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "Pinion is ready") {
			go io.Copy(io.Discard, out)
			return nil
		}
	}
	return fmt.Errorf("pinion up ended before it was ready")
}

// down stops the host and takes away everything it made.
func (h *host) down() {
	down := exec.Command(h.binary, "--data-dir", h.dir, "down", "--purge", "--force")
	down.Stderr = os.Stderr
	down.Run()
	h.cmd.Wait()
}
