package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pinion/internal/atomicfile"
)

func snapshotCommand(p Program) *cli.Command {
	command := &cli.Command{
		Name:      "snapshot",
		Usage:     "save the pool's state to a file, look into one, restore from one",
		ArgsUsage: "save|restore|inspect FILE",
		Description: `A snapshot holds clusters, task definitions, hosts, tasks, access keys with their secrets sealed, and the authority that
hosts trust: keep it secret. What opens the secrets is seal.key in the data directory of each server; keep a copy elsewhere.

Examples:
   pinion snapshot save /backup/pinion.snapshot       # of a running pool, from any host
   pinion snapshot inspect /backup/pinion.snapshot
   sudo pinion snapshot restore /backup/pinion.snapshot`,
		Subcommands: []*cli.Command{snapshotSaveCommand(p)},
		Action: func(c *cli.Context) error {
			return usageErrorf("pinion snapshot has no %q; see pinion snapshot --help", c.Args().First())
		},
	}
	if p.Restore != nil {
		command.Subcommands = append(command.Subcommands, snapshotRestoreCommand(p))
	}
	if p.InspectSnapshot != nil {
		command.Subcommands = append(command.Subcommands, snapshotInspectCommand(p))
	}
	return command
}

func snapshotSaveCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "save",
		Usage:     "save the state of the running pool",
		ArgsUsage: "FILE",
		Description: `FILE appears, mode 0600, when it is whole.

Examples:
   pinion snapshot save /backup/pinion.snapshot`,
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			s, err := p.newSession(c)
			if err != nil {
				return err
			}
			size, err := writeFileAtomically(file, func(w io.Writer) error { return s.client.SaveSnapshot(c.Context, w) }, p.checkSnapshot)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "saved %s, %s\n", file, formatBytes(size))
			return err
		},
	}
}

// checkSnapshot reports what is wrong with a snapshot file, as far as this program can tell.
func (p Program) checkSnapshot(file string) error {
	if p.InspectSnapshot == nil {
		return nil
	}
	return p.InspectSnapshot(io.Discard, file, false)
}

func snapshotRestoreCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "begin the pool anew on this machine, with the state of a snapshot",
		ArgsUsage: "FILE",
		Description: `Pinion must not be running on this machine. It then starts as the only server of a new incarnation of the pool; hosts of
the old one join it anew. On a machine that was no server, put a copy of seal.key into the data directory first; without it
clients need new access keys (pinion keys create).

Examples:
   sudo pinion snapshot restore /backup/pinion.snapshot && sudo pinion up`,
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			return withLocalHost(c, func(ctx context.Context, dir string) error {
				if err := p.Restore(ctx, dir, file); err != nil {
					return err
				}
				fmt.Fprintf(c.App.ErrWriter, "restored into %s; `pinion up` with this data directory starts the pool anew\n", dir)
				fmt.Fprintln(c.App.ErrWriter, "  first stop the hosts of the old one for good: tasks that wait in the snapshot start here, and would run twice")
				fmt.Fprintln(c.App.ErrWriter, "  access keys of the snapshot need its seal.key in that directory, else make new ones with `pinion keys create`")
				return nil
			})
		},
	}
}

func snapshotInspectCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "check a snapshot file and show what is in it",
		ArgsUsage: "FILE",
		Description: `Examples:
   pinion snapshot inspect /backup/pinion.snapshot
   pinion snapshot inspect -o json /backup/pinion.snapshot`,
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			output, err := outputFormat(c)
			if err != nil {
				return err
			}
			return p.InspectSnapshot(c.App.Writer, file, output == outputJSON)
		},
	}
}

func recoverCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "recover",
		Usage: "make this host the only server, after most servers were lost for good",
		Description: `For when the pool cannot come back by itself: more than half of its servers are gone and will not return. Pinion must not
be running on this machine, which must have been a server. The pool goes on from what this host knows, in a new
incarnation: servers of the old one can never form a second pool. Choose the survivor that has seen the most.

Examples:
   sudo pinion recover && sudo pinion up`,
		Action: func(c *cli.Context) error { return withLocalHost(c, p.Recover) },
	}
}

// withLocalHost does something with this machine's host while it is down.
func withLocalHost(c *cli.Context, do func(ctx context.Context, dataDir string) error) error {
	if err := localMachine().check(); err != nil {
		return err
	}
	dir, err := filepath.Abs(dataDir(c))
	if err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	return do(c.Context, dir)
}

func fileArgument(c *cli.Context) (string, error) {
	if c.Args().Len() != 1 {
		return "", usageErrorf("%s takes one file; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	return filepath.Abs(c.Args().First())
}

// writeFileAtomically makes a file that is there, and on the disk, only when it was written to its end and found good.
func writeFileAtomically(path string, write func(io.Writer) error, check func(path string) error) (size int64, err error) {
	file, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Discard()
	if err := errors.Join(write(file), file.Sync()); err != nil {
		return 0, err
	}
	if err := check(file.Name()); err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), file.Commit()
}
