package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/unlock"
	"pinion/packaging/atomicfile"
)

func snapshotCommand(p Program) *cli.Command {
	command := &cli.Command{
		Name:      "snapshot",
		Usage:     "Save, inspect and restore snapshots of the pool's state",
		ArgsUsage: "save|restore|inspect FILE",
		Description: `A snapshot contains clusters, task definitions, hosts, tasks, access keys and the CA that hosts trust. The secrets
of keys and CA are sealed; what definitions have in their environments is not, so keep it to yourself. seal.key in the data directory of
each server opens the secrets: keep a copy elsewhere, with unlock.age and the unlock secret if the server has one. Restoring needs it.

Examples:
   pinion snapshot save /backup/pinion.snapshot       # of a running pool, from any host
   pinion snapshot inspect /backup/pinion.snapshot
   sudo pinion snapshot restore /backup/pinion.snapshot`,
		Subcommands: []*cli.Command{snapshotSaveCommand(p)},
		Action: func(c *cli.Context) error {
			return exit.Usagef("pinion snapshot has no %q; see pinion snapshot --help", c.Args().First())
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
		Usage:     "Save the state of the running pool",
		ArgsUsage: "FILE",
		Description: `FILE appears, with mode 0600, when it is complete and verified. It has the tasks that ended too, as far back as the hosts keep
them: about 240 MB for a million.

Examples:
   pinion snapshot save /backup/pinion.snapshot
   pinion snapshot save --without-history /backup/small.snapshot`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "without-history", Usage: "leave out the tasks that ended more than an hour ago"}},
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			inv, err := p.system.Invoke(c)
			if err != nil {
				return err
			}
			size, err := writeFileAtomically(file, func(w io.Writer) error { return inv.Client.SaveSnapshot(c.Context, w, !c.Bool("without-history")) }, p.checkSnapshot)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(inv.Out, "saved %s, %s\n", file, format.Bytes(size))
			return err
		},
	}
}

// checkSnapshot verifies a snapshot file.
func (p Program) checkSnapshot(file string) error {
	if p.InspectSnapshot == nil {
		return nil
	}
	return p.InspectSnapshot(io.Discard, file, false)
}

func snapshotRestoreCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "Restore the pool from a snapshot on this machine",
		ArgsUsage: "FILE",
		Description: `Pinion must not be running on this machine. It then starts as the only server of a new incarnation of the pool; hosts of the
old one have to join it again. On a machine that was not a server, copy seal.key of one into the data directory first, and unlock.age of that
server if it has one; without them the snapshot is refused, and nothing is changed.

Examples:
   sudo pinion snapshot restore /backup/pinion.snapshot && sudo pinion up
   sudo pinion snapshot restore --unlock ask /backup/pinion.snapshot`,
		Flags: []cli.Flag{unlock.Flag("")},
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			return withOfflineHost(c, func(ctx context.Context, h OfflineHost) error {
				if err := p.Restore(ctx, h, file); err != nil {
					return err
				}
				fmt.Fprintf(c.App.ErrWriter, "restored into %s; `pinion up` with this data directory starts the pool\n", h.DataDir)
				fmt.Fprintln(c.App.ErrWriter, "  first stop the old hosts permanently: pending tasks of the snapshot start here, and would run twice")
				fmt.Fprintln(c.App.ErrWriter, "  then remove again what was removed since it was saved: `pinion key ls`, `pinion token ls` and `pinion hosts` show what is back")
				return nil
			})
		},
	}
}

func snapshotInspectCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "Verify a snapshot file and show what it contains",
		ArgsUsage: "FILE",
		Description: `Examples:
   pinion snapshot inspect /backup/pinion.snapshot
   pinion snapshot inspect -o json /backup/pinion.snapshot`,
		Action: func(c *cli.Context) error {
			file, err := fileArgument(c)
			if err != nil {
				return err
			}
			output, err := invocation.OutputFormat(c)
			if err != nil {
				return err
			}
			return p.InspectSnapshot(c.App.Writer, file, output == invocation.JSON)
		},
	}
}

func recoverCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "recover",
		Usage: "Make this host the only server after most servers were lost",
		Description: `For a pool that cannot recover by itself: more than half of its servers are permanently gone. Pinion must not be running on
this machine, which must have been a server. The pool continues from this host's state in a new incarnation, which servers of
the old one can never outvote. Choose the surviving server with the newest state.

Examples:
   sudo pinion recover && sudo pinion up`,
		Flags:  []cli.Flag{unlock.Flag("")},
		Action: func(c *cli.Context) error { return withOfflineHost(c, p.Recover) },
	}
}

// OfflineHost is the host of this machine, which is not running.
type OfflineHost struct {
	DataDir string // absolute path
	Unlock  []byte // its unlock secret; nil when none was given
}

// withOfflineHost is withLocalHost with the unlock secret that the command names.
func withOfflineHost(c *cli.Context, do func(ctx context.Context, h OfflineHost) error) error {
	return withLocalHost(c, func(ctx context.Context, dataDir string) error {
		secret, err := unlock.Secret(c, dataDir)
		if err != nil {
			return err
		}
		return do(ctx, OfflineHost{DataDir: dataDir, Unlock: secret})
	})
}

// withLocalHost runs do on the data directory of this machine, whose host must not be running.
func withLocalHost(c *cli.Context, do func(ctx context.Context, dataDir string) error) error {
	if err := localMachine().check(); err != nil {
		return err
	}
	dir, err := filepath.Abs(invocation.DataDir(c))
	if err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	return do(c.Context, dir)
}

func fileArgument(c *cli.Context) (string, error) {
	if c.Args().Len() != 1 {
		return "", exit.Usagef("%s takes one file; see %s --help", c.Command.HelpName, c.Command.HelpName)
	}
	return filepath.Abs(c.Args().First())
}

// writeFileAtomically creates a file under its name only when it is complete, on the disk and verified.
func writeFileAtomically(path string, write func(io.Writer) error, check func(path string) error) (size int64, err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return 0, exit.Usagef("%s is a directory: name the file to write, such as %s", path, filepath.Join(path, "pinion.snapshot"))
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no directory %s", filepath.Dir(path))
	}
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
