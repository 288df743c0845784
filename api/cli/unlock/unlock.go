// Package unlock is `pinion unlock`, and how the command line is told the unlock secret of a host.
package unlock

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

// What a Config asks for.
const (
	Set    = "set"    // encrypt the keys of the host
	Change = "change" // replace the secret
	Off    = "off"    // write the keys in clear
)

// Config is one change of a host's unlock secret.
type Config struct {
	DataDir   string // absolute path of the host's data directory
	Action    string // Set, Change or Off
	Secret    []byte // the host's secret; of Set, the one to be
	NewSecret []byte // of Change
}

// LocalHost runs something on the data directory of this machine's host, which must not be running.
type LocalHost func(c *cli.Context, do func(ctx context.Context, dataDir string) error) error

const description = `A host keeps private keys in its data directory: a server the keys of the whole pool. With an unlock secret they are encrypted, and a copy
of the disk opens nothing; each 'pinion up' needs the secret then. Without it the host does not start, and nobody can open its keys: keep a copy of
the secret elsewhere, or a host of the same pool to replace this one. Pinion must not be running; tasks run on meanwhile.

SOURCE of the secret is 'ask' at the terminal, or file:PATH. The secret has 8 to 4096 bytes; a file may end with a newline, which does not count.
With systemd a file may be bound to the machine's TPM, see docs/install.md.`

// Command is the command `pinion unlock`.
func Command(change func(context.Context, Config) error, local LocalHost) *cli.Command {
	command := &cli.Command{
		Name:  "unlock",
		Usage: "Encrypt the keys of this host with a secret that every start needs",
		Description: description + `

Examples:
   sudo systemctl stop pinion && sudo pinion unlock set --unlock file:/media/usb/secret
   sudo pinion up --unlock file:/media/usb/secret
   sudo pinion unlock change --unlock file:/media/usb/secret --new ask
   sudo pinion unlock off --unlock ask`,
		Action: func(c *cli.Context) error {
			return exit.Usagef("pinion unlock has no %q; see pinion unlock --help", c.Args().First())
		},
	}
	usages := map[string]string{
		Set:    "Encrypt the keys of this host with a secret; also goes on where that was cut short",
		Change: "Replace the secret; the one before opens nothing that is written from then on",
		Off:    "Write the keys in clear again",
	}
	for _, action := range []string{Set, Change, Off} {
		below := &cli.Command{Name: action, Usage: usages[action], Description: "Examples:\n   sudo pinion unlock " + action + " --unlock file:/media/usb/secret"}
		below.Flags = []cli.Flag{Flag("ask")}
		if action == Change {
			below.Flags = append(below.Flags, &cli.StringFlag{Name: "new", Value: "ask", Usage: "`SOURCE` of the new secret: ask or file:PATH"})
		}
		below.Action = func(c *cli.Context) error { return run(c, action, change, local) }
		command.Subcommands = append(command.Subcommands, below)
	}
	return command
}

func run(c *cli.Context, action string, change func(context.Context, Config) error, local LocalHost) error {
	return local(c, func(ctx context.Context, dir string) (err error) {
		config := Config{DataDir: dir, Action: action}
		if config.Secret, err = source(c.String("unlock")).read(dir, "Unlock secret: ", action == Set); err != nil {
			return err
		}
		if action == Change {
			if config.NewSecret, err = source(c.String("new")).read(dir, "New unlock secret: ", true); err != nil {
				return err
			}
		}
		if err := change(ctx, config); err != nil {
			return err
		}
		fmt.Fprintln(c.App.ErrWriter, map[string]string{
			Set:    "the keys in " + dir + " are encrypted: start with `pinion up --unlock`, and keep a copy of the secret elsewhere",
			Change: "the keys in " + dir + " open with the new secret alone",
			Off:    "the keys in " + dir + " are in clear",
		}[action])
		return nil
	})
}
