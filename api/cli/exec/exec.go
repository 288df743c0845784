// Package exec has the commands that reach into containers of running tasks.
package exec

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// Command is `pinion exec`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "exec",
		Usage:     "Run a command in a container of a running task",
		ArgsUsage: "TASK [--] COMMAND [ARG...]",
		Description: `The command runs as the user of the container, with its environment, directory, GPUs and limits, and 'pinion exec' exits with its
exit code. TASK is an id, its first digits, an ARN, or a name; one that is starting is waited for.
Who may: keys of the role submit, in tasks that were run with enableExecuteCommand, as 'pinion run' does unless --no-exec; keys of the
role admin in all. The audit log of the task's host has each command.

Examples:
   pinion exec 3f2a91c0 nvidia-smi
   pinion exec -it train -- sh
   pinion exec --container sidecar 3f2a91c0 -- cat /etc/hosts
   tar c data | pinion exec -i train -- tar x -C /work`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "interactive", Aliases: []string{"i"}, Usage: "give it standard input"},
			&cli.BoolFlag{Name: "tty", Aliases: []string{"t"}, Usage: "run it on a terminal"},
			&cli.StringFlag{Name: "container", Usage: "the container `NAME`, where the task has several"},
			invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if len(words) > 1 && words[1] == "--" {
				words = append(words[:1:1], words[2:]...)
			}
			if len(words) < 2 {
				return exit.Usagef("name a task and a command: pinion exec TASK -- COMMAND")
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			task, err := startedTask(c.Context, inv, c.String("cluster"), words[0])
			if err != nil {
				return err
			}
			r := client.ExecRequest{Container: c.String("container"), Command: words[1:], TTY: c.Bool("tty")}
			return Run(c.Context, inv, task, r, c.Bool("interactive"))
		},
	}
}

// Run runs a command in a task with the streams of this process. Its exit code is that of the error.
func Run(ctx context.Context, inv *invocation.Invocation, task string, r client.ExecRequest, input bool) error {
	r.Stdout, r.Stderr = inv.Out, inv.Err
	if input {
		r.Stdin = os.Stdin
	}
	code, err := onTerminal(ctx, inv, task, r)
	if errors.Is(err, client.ErrExecInterrupted) {
		return fmt.Errorf("%w. The task runs on; a session cannot go on, and its command ends with it: run it again in a moment", err)
	}
	if err != nil || code == 0 {
		return err
	}
	return exit.Silent(code)
}

// Attach runs a command in a task on the terminal of this process.
func Attach(ctx context.Context, inv *invocation.Invocation, task string, command []string) error {
	return Run(ctx, inv, task, client.ExecRequest{Command: command, TTY: term.IsTerminal(int(os.Stdin.Fd()))}, true)
}

// onTerminal runs the command, and gives it this process's terminal as it is, if it asks for one and there is one.
func onTerminal(ctx context.Context, inv *invocation.Invocation, task string, r client.ExecRequest) (int, error) {
	keys := int(os.Stdin.Fd())
	if !r.TTY || r.Stdin == nil || !term.IsTerminal(keys) {
		return inv.Client.Exec(ctx, task, r)
	}
	before, err := term.MakeRaw(keys)
	if err != nil {
		return 0, err
	}
	defer func() { _ = term.Restore(keys, before) }() // it was in that state
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.Size = sizeOfTerminal()
	r.Sizes = terminalSizes(ctx)
	return inv.Client.Exec(ctx, task, r)
}

// sizeOfTerminal is the size of this process's terminal; zero when that is not known.
func sizeOfTerminal() client.TerminalSize {
	columns, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return client.TerminalSize{}
	}
	return client.TerminalSize{Columns: uint16(columns), Rows: uint16(rows)}
}

// offer puts a size in the place of one that was not taken yet.
func offer(to chan client.TerminalSize, size client.TerminalSize) {
	select {
	case <-to:
	default:
	}
	select {
	case to <- size:
	default:
	}
}
