//go:build cgo

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-cdi-hook/commands"
	"github.com/urfave/cli/v3"
	"tags.cncf.io/container-device-interface/specs-go"
)

// hookCommand is the first argument that makes this program run as a CDI hook.
const hookCommand = "cdi-hook"

// hookPath is the PATH of every hook.
const hookPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

// visibleDevices is removed from the specification: Pinion sets it from the task's assignment.
const visibleDevices = "NVIDIA_VISIBLE_DEVICES="

// runHook runs one of NVIDIA's hooks; args[0] is hookCommand.
func runHook(args []string) error {
	hooks := commands.ConfigureCDIHookCommand(logger(), &cli.Command{Name: hookCommand})
	return hooks.Run(context.Background(), args)
}

// harden makes a generated specification safe to apply. Hooks run as root of the host, and runc before 1.3 runs a hook
// without an environment of its own with the image's (LD_PRELOAD included). So each hook gets an environment, its arguments
// start with hookCommand, and no other program is accepted as a hook.
func harden(spec *specs.Spec, self string) error {
	edits := []*specs.ContainerEdits{&spec.ContainerEdits}
	for i := range spec.Devices {
		edits = append(edits, &spec.Devices[i].ContainerEdits)
	}
	for _, edit := range edits {
		edit.Env = slices.DeleteFunc(edit.Env, func(v string) bool { return strings.HasPrefix(v, visibleDevices) })
		for _, hook := range edit.Hooks {
			if hook.Path != self {
				return fmt.Errorf("the CDI specification names a foreign hook, %s: it would run as root of this host", hook.Path)
			}
			if len(hook.Args) == 0 {
				return fmt.Errorf("the CDI specification has a hook without arguments")
			}
			hook.Args = slices.Insert(slices.Clone(hook.Args), 1, hookCommand)
			hook.Args[0] = filepath.Base(self)
			hook.Env = append([]string{hookPath}, hook.Env...)
		}
	}
	return nil
}
