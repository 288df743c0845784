package main

import (
	"syscall"
	"time"
)

// restartTasks is the number of tasks that run while pinion is killed.
const restartTasks = 8

// measureRestarts kills pinion under running tasks and starts it again: the time until its ready line, which comes after the
// report of its tasks, and until a task has been stopped by the new process.
func measureRestarts(h *host, _ int, r *results) error {
	if err := h.define("restart"); err != nil {
		return err
	}
	var running []task
	for range restartTasks {
		t, err := h.run("restart")
		if err != nil {
			return err
		}
		if t, err = h.wait(t, "RUNNING"); err != nil {
			return err
		}
		running = append(running, t)
	}
	var ready, stopped []time.Duration
	for _, t := range running {
		h.cmd.Process.Signal(syscall.SIGKILL)
		h.cmd.Wait()
		begin := time.Now()
		if err := h.start(); err != nil {
			return err
		}
		ready = append(ready, time.Since(begin))
		if err := h.stop(t); err != nil {
			return err
		}
		stopped = append(stopped, time.Since(begin))
	}
	return r.add("Host/restart", len(ready), append(percentiles("", ready), took("max", percentile(ready, 1)), took("stop-p50", median(stopped)))...)
}
