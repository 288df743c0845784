package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// waitScript keeps the container of a shell until it is stopped.
const waitScript = "trap exit TERM INT; sleep 2147483647 & wait"

// notOfShells are flags of `pinion run` that are about several tasks, or about one that is not attended.
var notOfShells = []string{"detach", "service", "no-exec", "count", "array", "gang", "after", "retries", "retry-on", "hold", "preemptible", "lost-after", "entrypoint", "stop-timeout"}

// ShellCommand is `pinion shell`. attach runs a command in a task with the terminal of this process; its exit code is that of the error.
func ShellCommand(system invocation.System, attach func(ctx context.Context, inv *invocation.Invocation, task string, command []string) error) *cli.Command {
	return &cli.Command{
		Name:      "shell",
		Usage:     "Open a shell in a new task, which ends with it",
		ArgsUsage: "IMAGE|FAMILY[:REVISION] [COMMAND ARGUMENTS...]",
		Description: `Starts a task of the image, with what the flags give it, waits until it runs, and runs COMMAND in it on this terminal, "sh" unless
another is given. The task is stopped when the command ends, and 'pinion shell' exits with its exit code. The image needs "sh" and "sleep". A task
whose 'pinion shell' was killed goes on: --idle-timeout or --time-limit ends it.

Examples:
   pinion shell --gpus 1 nvidia/cuda:12.4.1-devel-ubuntu22.04 bash
   pinion shell --gpu-memory 10g -v /data:/data:ro my/trainer -- python
   pinion shell --gpus 2 --gpu-model H100 --idle-timeout 30m my/trainer`,
		Flags: slices.DeleteFunc(flags(), func(f cli.Flag) bool { return slices.Contains(notOfShells, f.Names()[0]) }),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			definition, wrong := parseDefinition(c)
			request, err := parseShell(c)
			if err := exit.Join(wrong, err); err != nil {
				return err
			}
			container := &definition.Containers[0]
			command := container.Command
			if len(command) == 0 {
				command = []string{"sh"}
			}
			container.EntryPoint, container.Command = []string{"sh", "-c"}, []string{waitScript}
			if err := request.complete(c.Context, inv); err != nil {
				return err
			}
			return shell(c.Context, &launcher{inv: inv, request: request}, definition, func(task string) error { return attach(c.Context, inv, task, command) })
		},
	}
}

// parseShell reads the flags of a shell, whose task is one.
func parseShell(c *cli.Context) (request, error) {
	r := request{cluster: c.String("cluster"), gpus: c.Int("gpus"), startedBy: "pinion-shell", publishes: c.IsSet("publish"), exec: true, placement: map[string]any{}}
	r.batch = batchOptions{count: 1, group: c.String("group"), wait: !c.Bool("no-wait"), waitForHost: c.Bool("wait-for-host")}
	wrong := AddPlacement(c, r.placement)
	r.selectsGPUs = selectsGPUs(r.placement)
	tags, err := ParseTags(c)
	r.tags = tags
	return r, exit.Join(wrong, err)
}

// shell starts a task, calls attach when it runs, and stops it.
func shell(ctx context.Context, l *launcher, definition Definition, attach func(task string) error) error {
	tasks, err := l.launch(ctx, definition)
	if err != nil {
		return err
	}
	id := tasks[0].ID()
	stop := func(reason string) error {
		return l.inv.Client.StopTask(context.WithoutCancel(ctx), l.request.cluster, id, reason, true)
	}
	if _, err := l.refuseUnschedulable(ctx, tasks, func([]client.Task) { _ = stop(reasonUnschedulable) }); err != nil {
		return err
	}
	l.inv.Notef("task %s is starting ...", format.ID(id))
	watch := l.inv.WatchTask(l.request.cluster, id)
	task, err := watch.Until(ctx, func(t client.Task) bool { return t.Status == "RUNNING" || t.Stopped() }, func(client.Task) {})
	watch.Close()
	if err == nil && task.Stopped() {
		return exit.Errorf(exit.NotStarted, "task %s did not start: `pinion why %s` says more", format.ID(id), format.ID(id))
	}
	if err == nil {
		err = attach(id)
	}
	if stopped := stop("its shell has ended"); stopped != nil {
		l.inv.Notef("%v", fmt.Errorf("task %s is not stopped: %w. `pinion stop %s` stops it", format.ID(id), stopped, format.ID(id)))
	}
	return err
}
