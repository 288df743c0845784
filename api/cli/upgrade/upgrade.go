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

// DefaultTimeout is how long a new program may take until it is ready.
const DefaultTimeout = time.Minute

// Command is the command `pinion upgrade`. Nil: this program has no host.
func Command(system invocation.System, host upgrade.Host) *cli.Command {
	return &cli.Command{
		Name:  "upgrade",
		Usage: "Exchange the program of this host; its tasks run on",
		Description: `The file is tried, its signature is checked if it has one, and it is put in the place of the program that runs here. That one stays beside it, with .old behind its name, and pinion is started anew in its
process: containers, their logs and their GPUs stay as they are. When the host has not joined its pool and taken up its tasks after --timeout, or pinion ends before, also
by a power cut, the program of before is put back and started, and the command fails with the reason. It is about this machine alone: of a pool, upgrade the agents first, then the servers one by one.

Examples:
   sudo pinion upgrade --to ./pinion
   sudo pinion upgrade --to ./pinion --dry-run
   sudo pinion upgrade status -o json
   sudo pinion upgrade rollback`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`FILE` with the new program"},
			&cli.StringFlag{Name: "signature", Usage: "`FILE` with its signature, as minisign writes it", DefaultText: "that of --to, with .minisig behind it, if it is there"},
			&cli.BoolFlag{Name: "dry-run", Usage: "try the file and say what would be done"},
			timeoutFlag(),
		},
		Subcommands: []*cli.Command{statusCommand(system, host), rollbackCommand(system, host)},
		Action: func(c *cli.Context) error {
			if c.String("to") == "" || c.Args().Present() {
				return exit.Usagef("pinion upgrade takes the new program as --to FILE; see pinion upgrade --help")
			}
			config := upgrade.Config{File: c.String("to"), DryRun: c.Bool("dry-run")}
			var err error
			if config.Signature, err = signatureOf(config.File, c.String("signature")); err != nil {
				return err
			}
			return run(c, system, host, config)
		},
	}
}

func timeoutFlag() cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Value: DefaultTimeout, Usage: "`TIME` in which the host has to be ready with the new program"}
}

func rollbackCommand(system invocation.System, host upgrade.Host) *cli.Command {
	return &cli.Command{
		Name:  "rollback",
		Usage: "Put the program back that was there before the last upgrade",
		Description: `It is an upgrade itself, to the program that the last one has left beside that of this host: it is put back likewise if it is not ready in time.

Examples:
   sudo pinion upgrade rollback`,
		Flags: []cli.Flag{timeoutFlag()},
		Action: func(c *cli.Context) error {
			return run(c, system, host, upgrade.Config{})
		},
	}
}

func run(c *cli.Context, system invocation.System, host upgrade.Host, config upgrade.Config) (err error) {
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

func statusCommand(system invocation.System, host upgrade.Host) *cli.Command {
	return &cli.Command{
		Name:  "status",
		Usage: "Show the last upgrade of this host",
		Description: `Examples:
   sudo pinion upgrade status
   sudo pinion upgrade status -o json`,
		Action: func(c *cli.Context) error {
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

// GuardCommand is the hidden command that waits beside a new program.
func GuardCommand(host upgrade.Host) *cli.Command {
	return &cli.Command{
		Name: upgrade.GuardName, Hidden: true, Usage: "Wait until a new program is ready, and put the one of before back otherwise",
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
