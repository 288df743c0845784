package main

import (
	"context"
	"time"
)

// listedTasks are listed.
const listedTasks = 10_000

// measureLists times `pinion ps -a` of many tasks, its whole process, in turns with `pinion version`, which asks the host for nothing
// else. The tasks wait, because no host has that many GPUs.
func measureLists(_ context.Context, o options, r *results) error {
	h, err := startHost(o.binary)
	if err != nil {
		return err
	}
	defer h.down()
	definition := object{"family": "waiting", "networkMode": "none", "containerDefinitions": []object{{
		"name": "c", "image": "pinion/self", "memory": 64, "resourceRequirements": []object{{"type": "GPU", "value": "9"}},
	}}}
	if err := h.call("RegisterTaskDefinition", definition, &struct{}{}); err != nil {
		return err
	}
	for n := 0; n < listedTasks; {
		var answer tasks
		if err := h.call("RunTask", object{"taskDefinition": "waiting", "count": 100, "capacityProviderStrategy": []object{{"capacityProvider": "PINION"}}}, &answer); err != nil {
			return err
		}
		n += len(answer.Tasks)
	}
	var lists, starts []time.Duration
	for range o.repeats {
		took, err := timeCommand(h.binary, "--data-dir", h.dir, "ps", "-a")
		if err != nil {
			return err
		}
		start, err := timeCommand(h.binary, "--data-dir", h.dir, "version")
		if err != nil {
			return err
		}
		lists, starts = append(lists, took), append(starts, start)
	}
	return r.add("Host/ps", o.repeats, append(percentiles("", lists), took("version-p50", median(starts)))...)
}
