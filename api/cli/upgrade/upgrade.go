// Package upgrade is `pinion upgrade`: it exchanges the program of this machine's host under its tasks.
package upgrade

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/upgrade"
	"pinion/packaging/signature"
)

// DefaultDwell is how long the hosts of a step have to be well before the next one begins: a program that is ready and crashes then does so within it, and systemd
// starts it again after 2 s.
const DefaultDwell = 10 * time.Second

// DefaultTimeout is how long a new program may take until it is ready.
const DefaultTimeout = time.Minute

// Command is the command `pinion upgrade`. host is nil in a program without one; here refuses a line that names another host.
func Command(system invocation.System, host upgrade.Host, here func(*cli.Context) error) *cli.Command {
	return &cli.Command{
		Name:  "upgrade",
		Usage: "Upgrade pinion on this host, or on all hosts; tasks keep running",
		Description: `The file is tested and its signature, if any, is verified. Then it replaces the running program, which is kept as NAME.old, and pinion restarts in the same
process: containers, their logs and their GPUs stay as they are. If the host has not joined its pool and taken up its tasks after --timeout, or pinion ends before that, also
by a power cut, the previous program is restored and started, and the command fails with the reason.

With --all, or --on-host, it is about the pool, from any machine with an admin key of all clusters. The program goes to the pool once, and from host to host; it has to have a signature
that every host trusts (pinion up --release-key). Agents get it first, --step at a time, then the servers one by one, the leader last; a step begins when all hosts of the one
before have been back and well for --dwell, and every server has caught up with the leader. The first host that is not puts itself back and stops the upgrade. Ctrl-C pauses it; the same command goes on.

Examples:
   sudo pinion upgrade --to ./pinion
   sudo pinion upgrade --to ./pinion --dry-run
   pinion upgrade --to ./pinion --all --step 5
   pinion upgrade --to ./pinion --on-host gpu-1 --on-host gpu-2
   pinion upgrade status --all
   sudo pinion upgrade rollback`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`FILE` with the new program"},
			&cli.StringFlag{Name: "signature", Usage: "`FILE` with its signature, as minisign writes it", DefaultText: "that of --to, with .minisig behind it, if it is there"},
			&cli.BoolFlag{Name: "dry-run", Usage: "check the file and say what would be done"},
			timeoutFlag(),
		}, poolFlags()...),
		Subcommands: []*cli.Command{statusCommand(system, host, here), rollbackCommand(system, host, here)},
		Action: func(c *cli.Context) error {
			file := c.String("to")
			if file == "" || c.Args().Present() {
				return exit.Usagef("pinion upgrade takes the new program as --to FILE; see pinion upgrade --help")
			}
			signed, err := signatureOf(file, c.String("signature"))
			if err != nil {
				return err
			}
			if ofPool(c) {
				return upgradePool(c, system, file, signed)
			}
			return run(c, system, host, here, upgrade.Config{File: file, Signature: signed, DryRun: c.Bool("dry-run")})
		},
	}
}

func timeoutFlag() cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Value: DefaultTimeout, Usage: "`TIME` in which the host has to be ready with the new program"}
}

func rollbackCommand(system invocation.System, host upgrade.Host, here func(*cli.Context) error) *cli.Command {
	return &cli.Command{
		Name:  "rollback",
		Usage: "Roll back to the program before the last upgrade",
		Description: `It is an upgrade itself, to the program that the last one has left beside that of this host: it is put back likewise if it is not ready in time.
With --all, or --on-host, it is about the pool, in the order of an upgrade; hosts that were put back already are passed over.

Examples:
   sudo pinion upgrade rollback
   pinion upgrade rollback --all`,
		Flags: append([]cli.Flag{timeoutFlag()}, poolFlags()...),
		Action: func(c *cli.Context) error {
			if ofPool(c) {
				return rollBackPool(c, system)
			}
			return run(c, system, host, here, upgrade.Config{})
		},
	}
}

func run(c *cli.Context, system invocation.System, host upgrade.Host, here func(*cli.Context) error, config upgrade.Config) (err error) {
	if err := onHost(c, host, here); err != nil {
		return err
	}
	if config.Timeout = c.Duration("timeout"); config.Timeout < time.Second {
		return exit.Usagef("--timeout %s is not a second or more", config.Timeout)
	}
	if config.DataDir, err = filepath.Abs(invocation.DataDir(c)); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	inv, err := system.Invoke(c)
	if err != nil {
		return err
	}
	config.Progress = func(text string) { inv.Notef("%s", text) }
	attempt, err := host.Upgrade(c.Context, config)
	if err != nil {
		return err
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(attempt)
	}
	text := "%s is %s now (%s), and was %s\n"
	if config.DryRun {
		text = "%s would be %s (%s), and is %s\n"
	}
	signed := "not signed"
	if attempt.Signed {
		signed = "signed"
	}
	_, err = fmt.Fprintf(inv.Out, text, attempt.Binary, format.Plain(attempt.To.Version), signed, format.Plain(attempt.From.Version))
	return err
}

// onHost refuses what is about the host of this machine where there is none, or another one is meant.
func onHost(c *cli.Context, host upgrade.Host, here func(*cli.Context) error) error {
	if host == nil {
		return exit.Usagef("this program has no host: give --all, or --on-host, to upgrade those of a pool")
	}
	if c.IsSet("step") {
		return exit.Usagef("--step goes with --all, or --on-host")
	}
	if c.IsSet("dwell") {
		return exit.Usagef("--dwell goes with --all, or --on-host")
	}
	return here(c)
}

// signatureOf reads the signature of a file from the path, or from beside the file, where there may be none: nil.
func signatureOf(file, path string) ([]byte, error) {
	text, err := os.ReadFile(cmp.Or(path, file+signature.Extension))
	if path == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the signature of %s: %w", file, err)
	}
	return text, nil
}

func statusCommand(system invocation.System, host upgrade.Host, here func(*cli.Context) error) *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "Show the last upgrade of this host, or of all hosts",
		Description: `Examples:
   sudo pinion upgrade status
   sudo pinion upgrade status -o json
   pinion upgrade status --all`,
		Flags: poolFlags()[:2],
		Action: func(c *cli.Context) error {
			if ofPool(c) {
				return poolStatus(c, system)
			}
			if err := onHost(c, host, here); err != nil {
				return err
			}
			dataDir, err := filepath.Abs(invocation.DataDir(c))
			if err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			attempt, err := host.Status(dataDir)
			switch {
			case err != nil:
				return err
			case inv.Output == invocation.JSON:
				return inv.PrintJSON(attempt)
			case attempt == nil:
				inv.Notef("this host was not upgraded with `pinion upgrade`")
				return nil
			}
			_, err = fmt.Fprintf(inv.Out, "%s  %s to %s, %s\n", attempt.State, format.Plain(attempt.From.Version), format.Plain(attempt.To.Version), inv.Time(attempt.At))
			if err == nil && attempt.Reason != "" {
				_, err = fmt.Fprintln(inv.Out, format.Plain(attempt.Reason))
			}
			return err
		},
	}
}

// InheritsCommand is the hidden command that answers the previous program.
func InheritsCommand() *cli.Command {
	return &cli.Command{
		Name: upgrade.InheritsName, Hidden: true, Usage: "Say that this program takes listening sockets over",
		Description: `Examples:
   pinion ` + upgrade.InheritsName,
		Action: func(c *cli.Context) error {
			_, err := fmt.Fprintln(c.App.Writer, upgrade.InheritsAnswer)
			return err
		},
	}
}

// GuardCommand is the hidden command that waits beside a new program.
func GuardCommand(host upgrade.Host) *cli.Command {
	return &cli.Command{
		Name: upgrade.GuardName, Hidden: true, Usage: "Wait until the new program is ready, or restore the previous one",
		Description: `Examples:
   sudo pinion ` + upgrade.GuardName,
		Action: func(c *cli.Context) error {
			dataDir, err := filepath.Abs(invocation.DataDir(c))
			if err != nil {
				return err
			}
			return host.Guard(c.Context, dataDir)
		},
	}
}
