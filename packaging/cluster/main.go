// Command cluster runs a cluster of Pinion hosts on one machine, each in a network namespace of its own, for people who
// want to try one and to break its links. It needs root, bin/pinion, iproute2 and iptables. The hosts' GPUs are
// simulated; the rest is real.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/packaging/testbed"
)

const defaultDir = "/var/lib/pinion-cluster"

func main() {
	app := &cli.App{
		Name:  "cluster",
		Usage: "a cluster of Pinion hosts on this machine",
		Description: `Example:
   cluster up -n 5
   cluster exec host1 -- pinion hosts
   cluster cut host1 host2 --one-way
   cluster heal
   cluster kill host1
   cluster restart host1
   cluster down`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Value: defaultDir, Usage: "`DIR` of the cluster's state and of its hosts' data directories"},
		},
		Commands: []*cli.Command{
			upCommand(), listCommand(), cutCommand(), healCommand(), execCommand(), downCommand(),
			hostCommand("kill", "end pinion with SIGKILL; its tasks run on", (*testbed.Host).Kill),
			hostCommand("stop", "halt pinion with SIGSTOP: connections stay, nothing answers", withoutContext((*testbed.Host).Pause)),
			hostCommand("cont", "let a stopped pinion go on", withoutContext((*testbed.Host).Resume)),
			hostCommand("restart", "end pinion if it runs, and start it again", restart),
		},
		HideHelpCommand: true,
		ExitErrHandler:  func(*cli.Context, error) {},
	}
	if err := app.Run(os.Args); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func upCommand() *cli.Command {
	return &cli.Command{
		Name:  "up",
		Usage: "make the network, start the hosts and wait until they are one cluster",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "n", Value: 3, Usage: "`N` hosts"},
			&cli.StringFlag{Name: "gpus", Value: "sim:8xh100", Usage: "`SOURCE` of GPUs of every host, as `pinion up` takes it"},
			&cli.StringFlag{Name: "binary", Value: "bin/pinion", Usage: "the pinion program"},
		},
		Action: func(c *cli.Context) error {
			config := testbed.Config{Dir: c.String("dir"), Binary: c.String("binary")}
			for range c.Int("n") {
				config.Hosts = append(config.Hosts, []string{"--gpus", c.String("gpus")})
			}
			b, err := testbed.New(config)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context, 2*time.Minute)
			defer cancel()
			if err := b.Up(ctx); err != nil {
				return errors.Join(err, b.Down(c.Context))
			}
			defer b.Close()
			return list(b)
		},
	}
}

func listCommand() *cli.Command {
	return &cli.Command{Name: "ls", Usage: "list the hosts", Action: func(c *cli.Context) error {
		return withTestbed(c, list)
	}}
}

func list(b *testbed.Testbed) error {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "HOST\tSTATUS\tADDRESS\tPID\tDATA DIRECTORY")
	for _, h := range b.Hosts() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", h.Name, h.Status(), h.Address(), h.PID(), h.Dir)
	}
	return table.Flush()
}

func cutCommand() *cli.Command {
	return &cli.Command{
		Name:      "cut",
		Usage:     "drop what goes between two hosts, or only what the first sends to the second",
		ArgsUsage: "A B",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "one-way"}},
		Action: func(c *cli.Context) error {
			return withTestbed(c, func(b *testbed.Testbed) error {
				from, err1 := b.Host(c.Args().Get(0))
				to, err2 := b.Host(c.Args().Get(1))
				if err := errors.Join(err1, err2); err != nil {
					return err
				}
				if c.Bool("one-way") || c.Args().Get(2) == "--one-way" { // flags end at the first name
					return b.Cut(from, to)
				}
				return b.CutBoth(from, to)
			})
		},
	}
}

func healCommand() *cli.Command {
	return &cli.Command{Name: "heal", Usage: "make every link whole again", Action: func(c *cli.Context) error {
		return withTestbed(c, (*testbed.Testbed).Heal)
	}}
}

func execCommand() *cli.Command {
	return &cli.Command{
		Name:      "exec",
		Usage:     "run a command on a host; a `pinion` in it talks to that host",
		ArgsUsage: "HOST -- COMMAND...",
		Action: func(c *cli.Context) error {
			args := c.Args().Slice()
			if len(args) > 1 && args[1] == "--" {
				args = append(args[:1], args[2:]...)
			}
			if len(args) < 2 {
				return errors.New("name a host and a command, as in: exec host1 -- pinion hosts")
			}
			b, err := testbed.Open(c.String("dir"))
			if err != nil {
				return err
			}
			h, err := b.Host(args[0])
			if err := errors.Join(err, b.Close()); err != nil { // closed: a shell may stay for long
				return err
			}
			return h.Run(commandOn(h, args[1:]))
		},
	}
}

// commandOn is the command with this terminal. Pinion gets the host's data directory.
func commandOn(h *testbed.Host, args []string) *exec.Cmd {
	if args[0] == "pinion" {
		args = append([]string{h.Binary(), "--data-dir", h.Dir}, args[1:]...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd
}

func downCommand() *cli.Command {
	return &cli.Command{Name: "down", Usage: "end everything and remove all of it", Action: func(c *cli.Context) error {
		b, err := testbed.Open(c.String("dir"))
		if errors.Is(err, testbed.ErrNone) {
			return nil
		}
		if err != nil {
			return err
		}
		return b.Down(c.Context)
	}}
}

// hostCommand does something to one host.
func hostCommand(name, usage string, do func(*testbed.Host, context.Context) error) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, ArgsUsage: "HOST", Action: func(c *cli.Context) error {
		return withTestbed(c, func(b *testbed.Testbed) error {
			h, err := b.Host(c.Args().First())
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context, time.Minute)
			defer cancel()
			return do(h, ctx)
		})
	}}
}

func withoutContext(do func(*testbed.Host) error) func(*testbed.Host, context.Context) error {
	return func(h *testbed.Host, _ context.Context) error { return do(h) }
}

// restart waits a little for the host; without a server that it reaches it cannot be ready.
func restart(h *testbed.Host, ctx context.Context) error {
	if err := errors.Join(h.Terminate(ctx), h.StartDetached()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err := h.Ready(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(os.Stderr, "%s runs, and is not ready yet: it may reach no server\n", h.Name)
		return nil
	}
	return err
}

func withTestbed(c *cli.Context, do func(*testbed.Testbed) error) error {
	b, err := testbed.Open(c.String("dir"))
	if err != nil {
		return err
	}
	return errors.Join(do(b), b.Close())
}
