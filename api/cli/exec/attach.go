package exec

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/tasklog"
	"pinion/api/client"
)

// AttachCommand is `pinion attach`.
func AttachCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "attach",
		Usage:     "Follow the output of a running container from now on",
		ArgsUsage: "TASK",
		Description: `Shows what the container writes from now on, and exits with its exit code when the task has stopped. Ctrl-C, or Ctrl-P and then Ctrl-Q on a terminal,
detaches: the task runs on. No input goes to the container: 'pinion exec -it TASK -- sh' runs a command beside it that has yours. What the
container wrote before is in 'pinion logs TASK'. TASK is an id, its first digits, an ARN, or a name; one that is starting is waited for.

Examples:
   pinion attach 3f2a91c0
   pinion attach --container sidecar train`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "container", Usage: "the container `NAME`, where the task has several"},
			invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := invocation.RefuseInput(c.App.Reader, "`pinion exec -i TASK -- COMMAND` runs a command beside it that gets it"); err != nil {
				return err
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			now := inv.Now()
			id, err := startedTask(c.Context, inv, c.String("cluster"), c.Args().First())
			if err != nil {
				return err
			}
			a := attachment{inv: inv, cluster: c.String("cluster"), query: client.LogQuery{Task: id, Container: c.String("container"), Since: now, Follow: true}}
			return a.follow(c.Context, system)
		},
	}
}

// errDetached ends an attachment whose task runs on.
var errDetached = errors.New("detached")

// attachment follows the output of a container.
type attachment struct {
	inv     *invocation.Invocation
	cluster string
	query   client.LogQuery
}

// follow prints the output until the task has stopped, or its user detaches.
func (a *attachment) follow(ctx context.Context, system invocation.System) error {
	watch := a.inv.WatchTask(a.cluster, a.query.Task)
	defer watch.Close()
	task, err := watch.Until(ctx, func(client.Task) bool { return true }, func(client.Task) {})
	if err == nil {
		a.query.Container, err = containerOf(task, a.query.Container)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	signals, release := system.Interrupts()
	defer release()
	go func() {
		select {
		case <-signals:
			cancel(errDetached)
		case <-ctx.Done():
		}
	}()
	printer := tasklog.Printer{Out: a.inv.Out, Err: a.inv.Err}
	if keys := int(os.Stdin.Fd()); term.IsTerminal(keys) {
		before, err := term.MakeRaw(keys)
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(keys, before) }() // it was in that state
		printer.Out, printer.Err = lineEnds(a.inv.Out), lineEnds(a.inv.Err)
		go func() {
			if pressesDetach(os.Stdin) {
				cancel(errDetached)
			}
		}()
	}
	err = tasklog.Follow(ctx, a.inv, a.query, printer.Print)
	if err = errors.Join(err, printer.Flush()); err == nil {
		task, err = watch.Until(ctx, func(t client.Task) bool { return t.Stopped() }, func(client.Task) {})
	}
	switch {
	case context.Cause(ctx) == errDetached:
		_, err := io.WriteString(printer.Err, "detached: task "+format.ID(a.query.Task)+" runs on\n")
		return err
	case err != nil:
		return err
	}
	return exitOf(task, a.query.Container)
}

// containerOf is the name of the container that is meant: of several, one has to be named.
func containerOf(task client.Task, named string) (string, error) {
	var names []string
	for _, c := range task.Containers {
		if c.Name == named {
			return named, nil
		}
		names = append(names, c.Name)
	}
	switch {
	case task.Stopped():
		return "", exit.Errorf(exit.Failure, "task %s has stopped: `pinion logs %s` shows its output", format.ID(task.ID()), format.ID(task.ID()))
	case named != "":
		return "", exit.Usagef("--container %s: the task has %s", named, format.List(names))
	case len(names) > 1:
		return "", exit.Usagef("name one of the containers of the task with --container: %s", format.List(names))
	}
	return strings.Join(names, ""), nil
}

// exitOf is the error with the exit code that a container of a stopped task has; nil for 0.
func exitOf(task client.Task, container string) error {
	for _, c := range task.Containers {
		switch {
		case c.Name != container || c.ExitCode == nil:
		case *c.ExitCode == 0:
			return nil
		default:
			return exit.Silent(*c.ExitCode)
		}
	}
	return exit.Errorf(exit.Failure, "task %s has stopped, and container %s has no exit code: `pinion why %s` says more", format.ID(task.ID()), container, format.ID(task.ID()))
}

// The keys that detach, as a raw terminal sends them.
const (
	ctrlC = 3
	ctrlP = 16
	ctrlQ = 17
)

// pressesDetach reads keys until Ctrl-C, or Ctrl-P and then Ctrl-Q, are pressed. It is false when there are no more keys.
func pressesDetach(keys io.Reader) bool {
	var key [1]byte
	for before := byte(0); ; before = key[0] {
		if _, err := io.ReadFull(keys, key[:]); err != nil {
			return false
		}
		if key[0] == ctrlC || before == ctrlP && key[0] == ctrlQ {
			return true
		}
	}
}

// lineEnds is a writer whose lines end as a raw terminal needs it; the writer itself when it is none.
func lineEnds(w io.Writer) io.Writer {
	if file, is := w.(*os.File); is && term.IsTerminal(int(file.Fd())) {
		return rawLines{w}
	}
	return w
}

type rawLines struct{ next io.Writer }

// Write writes the text with a carriage return before each line feed.
func (w rawLines) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.next, strings.ReplaceAll(string(text), "\n", "\r\n")); err != nil {
		return 0, err
	}
	return len(text), nil
}
