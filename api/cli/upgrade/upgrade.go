// Package upgrade is `pinion upgrade`: it exchanges the program of this machine's host under its tasks.
package upgrade

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
)

// State is how far an upgrade is.
type State string

// States of an upgrade.
const (
	Checking   State = "CHECKING"    // the new program is in place, and has not yet been ready
	Confirmed  State = "CONFIRMED"   // it has joined its pool and taken up the tasks
	RolledBack State = "ROLLED_BACK" // the program of before is in place again
	Abandoned  State = "ABANDONED"   // somebody else has put a third program there
)

// Release is one program.
type Release struct {
	Version string `json:"version"`
	Digest  string `json:"digest"` // "sha256:" and 64 hex digits
}

// Attempt is the last upgrade of a host. It is written to the disk before anything is changed.
type Attempt struct {
	State   State         `json:"state"`
	Binary  string        `json:"binary"` // absolute path of the program
	From    Release       `json:"from"`
	To      Release       `json:"to"`
	At      time.Time     `json:"at"`
	Timeout time.Duration `json:"timeout"`          // in which the new program has to be ready
	Starts  int           `json:"starts"`           // of the new program
	Reason  string        `json:"reason,omitempty"` // why it was rolled back, or abandoned
}

// Config is what to do on this machine.
type Config struct {
	DataDir  string // absolute path of the host's data directory
	File     string // the new program; empty: the one from before the last upgrade
	Timeout  time.Duration
	DryRun   bool // check the file, and change nothing
	Progress func(text string)
}

// Host is the host of this machine.
type Host interface {
	// Upgrade exchanges the program and waits for the outcome, which is Confirmed or an error.
	Upgrade(ctx context.Context, c Config) (Attempt, error)
	// Status is the last attempt; nil: there was none.
	Status(dataDir string) (*Attempt, error)
	// Guard waits until an attempt has ended, and rolls it back unless the new program is ready in time.
	Guard(ctx context.Context, dataDir string) error
}

// DefaultTimeout is how long a new program may take until it is ready.
const DefaultTimeout = time.Minute

// GuardName is the name of the hidden command that Upgrade starts.
const GuardName = "upgrade-guard"

// Command is the command `pinion upgrade`. Nil: this program has no host.
func Command(system invocation.System, host Host) *cli.Command {
	return &cli.Command{
		Name:  "upgrade",
		Usage: "Exchange the program of this host; its tasks run on",
		Description: `The file is tried and put in the place of the program that runs here. That one stays beside it, with .old behind its name, and pinion is started anew in its
process: containers, their logs and their GPUs stay as they are. When the host has not joined its pool and taken up its tasks after --timeout, or pinion ends before, also
by a power cut, the program of before is put back and started, and the command fails with the reason. It is about this machine alone: of a pool, upgrade the agents first, then the servers one by one.

Examples:
   sudo pinion upgrade --to ./pinion
   sudo pinion upgrade --to ./pinion --dry-run
   sudo pinion upgrade status -o json
   sudo pinion upgrade rollback`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "`FILE` with the new program"},
			&cli.BoolFlag{Name: "dry-run", Usage: "try the file and say what would be done"},
			timeoutFlag(),
		},
		Subcommands: []*cli.Command{statusCommand(system, host), rollbackCommand(system, host)},
		Action: func(c *cli.Context) error {
			if c.String("to") == "" || c.Args().Present() {
				return exit.Usagef("pinion upgrade takes the new program as --to FILE; see pinion upgrade --help")
			}
			return run(c, system, host, Config{File: c.String("to"), DryRun: c.Bool("dry-run")})
		},
	}
}

func timeoutFlag() cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Value: DefaultTimeout, Usage: "`TIME` in which the host has to be ready with the new program"}
}

func rollbackCommand(system invocation.System, host Host) *cli.Command {
	return &cli.Command{
		Name:  "rollback",
		Usage: "Put the program back that was there before the last upgrade",
		Description: `It is an upgrade itself, to the program that the last one has left beside that of this host: it is put back likewise if it is not ready in time.

Examples:
   sudo pinion upgrade rollback`,
		Flags: []cli.Flag{timeoutFlag()},
		Action: func(c *cli.Context) error {
			return run(c, system, host, Config{})
		},
	}
}

func run(c *cli.Context, system invocation.System, host Host, config Config) (err error) {
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
	text := "%s is %s now, and was %s\n"
	if config.DryRun {
		text = "%s would be %s, and is %s\n"
	}
	_, err = fmt.Fprintf(inv.Out, text, attempt.Binary, format.Plain(attempt.To.Version), format.Plain(attempt.From.Version))
	return err
}

func statusCommand(system invocation.System, host Host) *cli.Command {
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
func GuardCommand(host Host) *cli.Command {
	return &cli.Command{
		Name: GuardName, Hidden: true, Usage: "Wait until a new program is ready, and put the one of before back otherwise",
		Description: `Examples:
   sudo pinion ` + GuardName,
		Action: func(c *cli.Context) error {
			dataDir, err := filepath.Abs(invocation.DataDir(c))
			if err != nil {
				return err
			}
			return host.Guard(c.Context, dataDir)
		},
	}
}
