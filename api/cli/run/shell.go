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
	"pinion/raftfsm/lazyregexp"
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
		ArgsUsage: "IMAGE [COMMAND ARGUMENTS...]",
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
			return openShell(c, inv, func(task string, command []string) error { return attach(c.Context, inv, task, command) })
		},
	}
}

// openShell runs the command of a line in a new task, which ends with it. attach runs a command in a task that runs.
func openShell(c *cli.Context, inv *invocation.Invocation, attach func(task string, command []string) error) error {
	definition, wrong := parseDefinition(c)
	request, err := parseShell(c)
	if err := exit.Join(wrong, err); err != nil {
		return err
	}
	if err := refuseDefinition(c, inv); err != nil {
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
	return shell(c.Context, &launcher{inv: inv, request: request}, definition, func(task string) error { return attach(task, command) })
}

// refuseDefinition refuses the name of a task definition in the place of an image.
func refuseDefinition(c *cli.Context, inv *invocation.Invocation) error {
	word := c.Args().First()
	if !definitionName.MatchString(word) {
		return nil
	}
	known, err := findRegistered(c.Context, inv, word)
	if err != nil || known == nil {
		return err
	}
	return exit.Usagef("a shell is for an image, and %s is the task definition %s: `pinion run -d %s` and then `pinion exec -it TASK`, or name the image docker.io/library/%s", word, known.name(), word, word)
}

// Attach runs a command in a task with the streams of this process, with its standard input if input says so; its exit code is that of the error.
type Attach func(ctx context.Context, inv *invocation.Invocation, task string, r client.ExecRequest, input bool) error

// attachFlags are those by which `pinion run` gives the command the input and the terminal of this process, with the names that they have in docker.
func attachFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "interactive", Aliases: []string{"i"}, Usage: "give the command standard input; the task ends with it, as that of 'pinion shell' does"},
		&cli.BoolFlag{Name: "tty", Aliases: []string{"t"}, Usage: "run the command on a terminal; likewise"},
	}
}

// timeOfSlurm is what a -t of Slurm takes: minutes, and times such as 1-12:00:00.
var timeOfSlurm = lazyregexp.New(`^[0-9]+(-[0-9]+)?(:[0-9]+)*$`)

// refuseTime refuses a -t that was meant as that of Slurm.
func refuseTime(c *cli.Context) error {
	if word := c.Args().First(); c.Bool("tty") && timeOfSlurm.MatchString(word) {
		return exit.Usagef("-t runs the command on a terminal, and %s is no image: --time-limit TIME stops a task so long after its start", word)
	}
	return nil
}

// runAttached is `pinion run` with one of attachFlags: a shell whose command is attached as they say.
func runAttached(c *cli.Context, inv *invocation.Invocation, attach Attach) error {
	var wrong []error
	for _, name := range notOfShells {
		if c.IsSet(name) {
			wrong = append(wrong, exit.Usagef("--%s does not go with -i and -t: they are for one task, which ends with its command", name))
		}
	}
	if inv.Output == invocation.JSON {
		wrong = append(wrong, exit.Usagef("-o json does not go with -i and -t: standard output is the command's"))
	}
	if err := exit.Join(wrong...); err != nil {
		return err
	}
	if word := c.Args().First(); definitionName.MatchString(word) {
		known, err := findRegistered(c.Context, inv, word)
		if err != nil {
			return err
		}
		if known != nil {
			return exit.Usagef("-i and -t start an image, and %s is the task definition %s: run it without them and then `pinion exec -it TASK`, or name the image docker.io/library/%s", word, known.name(), word)
		}
	}
	return openShell(c, inv, func(task string, command []string) error {
		return attach(c.Context, inv, task, client.ExecRequest{Command: command, TTY: c.Bool("tty")}, c.Bool("interactive"))
	})
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
