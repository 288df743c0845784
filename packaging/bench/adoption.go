package main

import (
	"fmt"
	"syscall"
	"time"
)

// adopted is how many tasks run while pinion is killed.
const adopted = 8

// measureAdoption kills pinion under running tasks and starts it again: how long until it says that it is ready, which
// is after it has told the cluster what runs here, and until a task has been stopped through its new parent.
func measureAdoption(h *host) ([]figure, error) {
	if err := h.define("adopt"); err != nil {
		return nil, err
	}
	var running []task
	for range adopted {
		t, err := h.run("adopt")
		if err != nil {
			return nil, err
		}
		if t, err = h.wait(t, "RUNNING"); err != nil {
			return nil, err
		}
		running = append(running, t)
	}
	var ready, stopped []time.Duration
	for _, t := range running {
		h.cmd.Process.Signal(syscall.SIGKILL)
		h.cmd.Wait()
		begin := time.Now()
		if err := h.start(); err != nil {
			return nil, err
		}
		ready = append(ready, time.Since(begin))
		if err := h.stop(t); err != nil {
			return nil, err
		}
		stopped = append(stopped, time.Since(begin))
	}
	what := fmt.Sprintf("kill -9 of pinion, start -> %d tasks re-adopted, p50 (max)", adopted)
	return []figure{
		{what, ms(median(ready)) + " (" + ms(percentile(ready, 1)) + ")", "-", "at most 5 s"},
		{"... -> one of them stopped by command, p50", ms(median(stopped)), "-", "at most 5 s"},
	}, nil
}
