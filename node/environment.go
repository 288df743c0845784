package node

import (
	"strings"

	"pinion/raftfsm/spec"
)

// visibleDevices tells CUDA and the NVIDIA tools inside a container which GPUs are its own.
const visibleDevices = "NVIDIA_VISIBLE_DEVICES"

// environment composes what a container is given over its image's own environment, as "NAME=value": the definition's
// variables, the last of a name winning, then the GPUs. NVIDIA_VISIBLE_DEVICES is set for every container, "void" for
// one without GPUs, so that neither an image's "all" nor a definition's counts. Other NVIDIA_* variables are the
// definition's business.
func environment(definition []spec.KeyValue, gpus []string) []string {
	visible := "void"
	if len(gpus) > 0 {
		visible = strings.Join(gpus, ",")
	}
	index := map[string]int{}
	var env []string
	for _, v := range append(definition[:len(definition):len(definition)], spec.KeyValue{Name: visibleDevices, Value: visible}) {
		entry := v.Name + "=" + v.Value
		if i, ok := index[v.Name]; ok {
			env[i] = entry
			continue
		}
		index[v.Name] = len(env)
		env = append(env, entry)
	}
	return env
}
