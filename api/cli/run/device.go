package run

import (
	"path"
	"strings"

	"pinion/api/cli/exit"
	"pinion/raftfsm/linux"
)

// parseDevice reads a device in docker's form: HOST, HOST:CONTAINER, HOST:rw or HOST:CONTAINER:rw.
func parseDevice(given string) (linux.Device, error) {
	parts := strings.Split(given, ":")
	if len(parts) == 2 && !path.IsAbs(parts[1]) {
		parts = []string{parts[0], "", parts[1]}
	}
	d := linux.Device{HostPath: parts[0]}
	if len(parts) > 1 {
		d.ContainerPath = parts[1]
	}
	ok := len(parts) <= 3
	if ok && len(parts) == 3 {
		d.Permissions, ok = DevicePermissions(parts[2])
	}
	if err := linux.CheckDevice(d.HostPath); err != nil {
		return d, exit.Usagef("--device %s: %v; --gpus N asks for GPUs", given, err)
	}
	if !ok || d.ContainerPath != "" && !path.IsAbs(d.ContainerPath) {
		return d, exit.Usagef("--device %q is not HOST[:CONTAINER[:rwm]], such as /dev/fuse or /dev/fuse:/dev/fuse:rw", given)
	}
	return d, nil
}

// DevicePermissions are ECS's words for docker's letters of what a container may do with a device: "rwm". They are all when there are none.
func DevicePermissions(letters string) (words []string, ok bool) {
	for _, word := range linux.DevicePermissions {
		if strings.Contains(letters, word[:1]) {
			words = append(words, word)
		}
	}
	return words, len(words) == len(letters)
}
