package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// pause is the time between two questions to the host, long enough to leave it the machine.
func pause() { time.Sleep(20 * time.Millisecond) }

// measureReplies times RunTask's reply, one client, beside one fdatasync of a page on the same disk.
func measureReplies(h *host, rounds int) ([]figure, error) {
	if err := h.define("reply"); err != nil {
		return nil, err
	}
	var replies, syncs []time.Duration
	for range rounds {
		begin := time.Now()
		t, err := h.run("reply")
		if err != nil {
			return nil, err
		}
		replies = append(replies, time.Since(begin))
		if err := h.stop(t); err != nil {
			return nil, err
		}
		sync, err := fdatasync(filepath.Join(h.dir, "bench-sync"))
		if err != nil {
			return nil, err
		}
		syncs = append(syncs, sync)
	}
	reach := 3*median(syncs) + 2*time.Millisecond
	return []figure{{"RunTask reply, one client, p50", ms(median(replies)), "fdatasync " + ms(median(syncs)), "at most " + ms(reach)}}, nil
}

// fdatasync times one appended page made durable.
func fdatasync(path string) (time.Duration, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	begin := time.Now()
	if _, err := f.Write(make([]byte, 4096)); err != nil {
		return 0, err
	}
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		return 0, fmt.Errorf("fdatasync %s: %w", path, err)
	}
	return time.Since(begin), nil
}

// define registers a one-container family of the built-in image that stays until it is stopped.
func (h *host) define(family string) error {
	return h.call("RegisterTaskDefinition", object{"family": family, "networkMode": "none", "containerDefinitions": []object{{
		"name": "c", "image": "pinion/self", "memory": 64, "stopTimeout": 2,
		"command":              []string{"/pinion", "pause"},
		"resourceRequirements": []object{{"type": "GPU", "value": "1"}},
	}}}, &struct{}{})
}
