package format

import (
	"fmt"
	"strings"

	"pinion/api/client"
)

// KeyLimits shows the limits of a key, each with what it has of it: "gpus 2/8". Empty when it has none.
func KeyLimits(limits client.KeyLimits, use client.KeyUse) string {
	var all []string
	add := func(what string, used, limit int) {
		if limit > 0 {
			all = append(all, fmt.Sprintf("%s %d/%d", what, used, limit))
		}
	}
	add("tasks", use.Tasks, limits.MaxTasks)
	add("waiting", use.Waiting, limits.MaxWaiting)
	if limits.MaxGPUs != nil {
		all = append(all, fmt.Sprintf("gpus %d/%d", use.GPUs, *limits.MaxGPUs))
	}
	add("revisions", use.Revisions, limits.MaxRevisions)
	if limits.MaxPriority != nil {
		all = append(all, fmt.Sprintf("priority %d", *limits.MaxPriority))
	}
	if limits.RequestsPerSecond > 0 {
		all = append(all, fmt.Sprintf("%d requests/s", limits.RequestsPerSecond))
	}
	return strings.Join(all, ", ")
}
