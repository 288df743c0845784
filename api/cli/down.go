package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
)

// DownConfig is the options of `pinion down`.
type DownConfig struct {
	DataDir string // absolute path of the host's data directory
	Purge   bool   // remove the directory too
	Force   bool   // also while tasks run, which are ended
	DryRun  bool   // count the tasks that would be ended, refuse as without it, and change nothing
}

func downCommand(p Program) *cli.Command {
	var config DownConfig
	return &cli.Command{
		Name:  "down",
		Usage: "Stop this host with its tasks, container runtime and networks",
		Description: `Stopping 'pinion up' leaves the tasks running, so that Pinion can be upgraded. This command ends what is left then, and with
--purge removes the data directory: nothing of Pinion is left. While tasks run it refuses, unless --force ends them at once. It is about this
machine, never about the host of --host or of a login.

Examples:
   sudo pinion down
   sudo pinion down --force                            # with the tasks that run here
   sudo pinion down --force --purge --dry-run
   sudo pinion --data-dir /tmp/one down --purge`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "purge", Destination: &config.Purge, Usage: "remove the data directory, with the pool's state, keys and logs"},
			&cli.BoolFlag{Name: "force", Destination: &config.Force, Usage: "end the tasks that run on this host"},
			invocation.DryRunFlag("ended and removed"),
		},
		Action: func(c *cli.Context) error {
			if !namesDataDir(c) { // who names it means this machine
				if err := refuseLogin(p, c, "run it there, or name the data directory here with --data-dir "+invocation.DefaultDataDir); err != nil {
					return err
				}
			}
			config.DryRun = c.Bool(invocation.DryRun)
			var err error
			if config.DataDir, err = filepath.Abs(invocation.DataDir(c)); err != nil {
				return fmt.Errorf("--data-dir: %w", err)
			}
			if err := localMachine().check(); err != nil {
				return err
			}
			owners := ""
			if config.Force { // without it no task ends
				owners = ownersHere(c.Context, config.DataDir)
			}
			ended, err := p.Down(c.Context, config)
			if err != nil {
				return err
			}
			printDown(c.App.ErrWriter, config, ended, owners)
			return nil
		},
	}
}

// unitLink is there while systemd starts Pinion at boot.
const unitLink = "/etc/systemd/system/multi-user.target.wants/pinion.service"

// printDown says what `pinion down` did, whose tasks it ended as far as that is known, and what starts this host again.
func printDown(w io.Writer, config DownConfig, ended int, owners string) {
	done, removed := "ended ", ", removed "
	if config.DryRun {
		done, removed = "nothing was changed; pinion and its container runtime would be stopped: would end ", ", would remove "
	}
	done += format.Plural(ended, "task")
	switch {
	case ended == 0 && !config.DryRun:
		done = "no task was running"
	case owners != "":
		done += " (" + owners + ")"
	}
	if config.Purge {
		done += removed + config.DataDir
	}
	fmt.Fprintln(w, done)
	if config.DryRun {
		return
	}
	if _, err := os.Lstat(unitLink); err == nil && config.DataDir == invocation.DefaultDataDir {
		fmt.Fprintln(w, "systemd starts this machine as a host again at its next boot; `systemctl disable pinion` keeps it from that")
	}
}
