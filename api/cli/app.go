// Package cli is the pinion command line: one file per command. It talks to a host through api/client
// and starts nothing itself; what only the program can do comes in as functions of Program.
package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/access"
	"pinion/api/cli/arguments"
	"pinion/api/cli/bootstrap"
	"pinion/api/cli/complete"
	"pinion/api/cli/compose"
	"pinion/api/cli/daemon"
	"pinion/api/cli/definition"
	"pinion/api/cli/env"
	"pinion/api/cli/exec"
	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/gpus"
	"pinion/api/cli/hello"
	"pinion/api/cli/help"
	"pinion/api/cli/history"
	"pinion/api/cli/image"
	"pinion/api/cli/invocation"
	"pinion/api/cli/login"
	"pinion/api/cli/reference"
	"pinion/api/cli/run"
	"pinion/api/cli/secret"
	"pinion/api/cli/service"
	"pinion/api/cli/stats"
	"pinion/api/cli/stop"
	"pinion/api/cli/suggest"
	"pinion/api/cli/top"
	"pinion/api/cli/unlock"
	"pinion/api/cli/volume"
	"pinion/api/cli/why"
	"pinion/api/client"
	"pinion/api/upgrade"
)

// Program is what the command line needs of the program around it.
type Program struct {
	Version string // "0.1.0", shown by `pinion version`

	// Client is the command line without a host: the commands about this machine refuse.
	Client bool

	// Up runs a host until ctx is cancelled; nil means it ended well.
	Up func(ctx context.Context, c UpConfig) error

	// Down ends everything that lives from a data directory, which may be in use or not, and returns how many tasks it
	// ended. Unless it is forced, it refuses while tasks run.
	Down func(ctx context.Context, c DownConfig) (ended int, err error)

	// Restore makes the state in a snapshot file that of this machine's host, which must not be running, in a new
	// incarnation of its pool. Nil: there is no such command.
	Restore func(ctx context.Context, h OfflineHost, file string) error

	// InspectSnapshot checks a snapshot file and prints what is in it, as text or as JSON. Nil: there is no such command.
	InspectSnapshot func(out io.Writer, file string, json bool) error

	// Recover makes this machine's host, which must not be running, the only server of a new incarnation of its
	// pool. Nil: there is no such command.
	Recover func(ctx context.Context, h OfflineHost) error

	// Unlock changes the unlock secret of this machine's host, which must not be running.
	Unlock func(ctx context.Context, c unlock.Config) error

	// Doctor checks this machine and prints what it finds. A machine that is not sound is a silent failure.
	Doctor func(ctx context.Context, out io.Writer, c DoctorConfig) error

	// ContainerGPUs prints what the container that this process runs in sees of GPUs.
	ContainerGPUs gpus.Inspector

	// Simulate replays a trace. Nil: there is no such command.
	Simulate Simulator
	// SimulatedGPUs are those of hosts on this machine. Nil: there is no such command.
	SimulatedGPUs SimulatedGPUs

	// Upgrade exchanges the program of this machine's host. Nil: there is no such command.
	Upgrade upgrade.Host

	// Unit is the systemd unit of a host.
	Unit string

	system   invocation.System // stand-ins for tests
	patience time.Duration     // with a completion, instead of its limit
}

// Main runs one command line (args[0] is the program's name), prints the error if there is one, and returns the exit
// code; see package exit. `run` also returns the code of the container.
func Main(ctx context.Context, p Program, args []string) int {
	app := New(p)
	return exit.Report(app.ErrWriter, runLine(ctx, app, args))
}

// runLine runs one command line, whose flags may stand before the arguments or after them.
func runLine(ctx context.Context, app *cli.App, args []string) error {
	line, err := arguments.Order(app, args)
	if err != nil {
		return err
	}
	err = app.RunContext(ctx, line)
	if refused, is := errors.AsType[*client.APIError](err); is && refused.Type != "" && app.Metadata[wantsJSON] == true {
		return fmt.Errorf("%w (%s)", err, refused.Type) // programs read the type, people do not
	} else if is {
		return &keyNameError{err}
	}
	return err
}

// keyNameError is an error of a host that names access keys as people do.
type keyNameError struct{ error }

func (e *keyNameError) Error() string { return format.Principals(e.error.Error()) }
func (e *keyNameError) Unwrap() error { return e.error }

// runFor carries out further command lines for the completion of one, without a word of what goes wrong.
func runFor(p Program) complete.Run {
	return func(ctx context.Context, line []string) ([]byte, error) {
		var out bytes.Buffer
		app := New(p)
		app.Writer, app.ErrWriter, app.Reader = &out, io.Discard, strings.NewReader("")
		err := runLine(ctx, app, append([]string{app.Name}, line...))
		return out.Bytes(), err
	}
}

// wantsJSON is the metadata of a command line with -o json.
const wantsJSON = "json"

// New builds the command line. RunContext returns errors; only Main prints them.
func New(p Program) *cli.App {
	app := &cli.App{
		Name:                      "pinion",
		Usage:                     "Run GPU containers on your own machines, the way Amazon ECS does.",
		UsageText:                 "pinion [global options] COMMAND [options] [arguments]",
		Description:               poolAndCluster,
		Version:                   p.Version,
		Flags:                     invocation.GlobalFlags(),
		Commands:                  commands(p),
		Action:                    unknownCommand,
		OnUsageError:              wrapUsageError,
		ExitErrHandler:            func(*cli.Context, error) {},
		DisableSliceFlagSeparator: true,
		Metadata:                  map[string]any{},
		Reader:                    os.Stdin,
		Writer:                    os.Stdout,
		ErrWriter:                 os.Stderr,
	}
	for _, command := range app.Commands {
		setupCommand(p.system, command)
	}
	refuseOtherHosts(app.Commands, false)
	if p.Client {
		refuseHostCommands(app.Commands)
	}
	return app
}

// Help is written when it is asked for: the texts of all commands would take longer than most commands.
func init() { cli.HelpPrinter = printHelp }

// printHelp writes the help of the program or of a command.
func printHelp(w io.Writer, _ string, of any) {
	switch of := of.(type) {
	case *cli.App:
		program := *of
		program.Flags = invocation.GlobalFlags() // without the library's own
		io.WriteString(w, help.App(&program, helpGroups(of.Commands)))
	case *cli.Command:
		io.WriteString(w, help.Command(of, of.HelpName, globalNames()))
	}
}

// poolAndCluster distinguishes two words that are easily confused.
const poolAndCluster = `All hosts that have joined one another are a pool, with one common state. A cluster is, as on ECS, a named part of its hosts
with the tasks that run there; each host is in one, "default" unless pinion up --cluster names another.`

func commands(p Program) []*cli.Command {
	all := []*cli.Command{
		run.Command(p.system, service.CreateFromRun, exec.Run),
		psCommand(p),
		logsCommand(p),
		exec.Command(p.system),
		exec.AttachCommand(p.system),
		exec.CopyCommand(p.system),
		exec.PortForwardCommand(p.system),
		run.ShellCommand(p.system, exec.Attach),
		why.Command(p.system),
		stats.Command(p.system),
		stop.Command(p.system),
		queueCommand(p),
		history.Usage(p.system),
		inspectCommand(p),
		eventsCommand(p),
		definition.Register(p.system),
		service.Command(p.system, serviceLogsCommand(p)),
		daemon.Command(p.system),
		compose.Command(p.system),
		secret.Command(p.system),
		image.Command(p.system),
		volume.Command(p.system),
		taskCommand(p),
		definition.Command(p.system),
		hostsCommand(p),
		gpus.Command(p.system, p.ContainerGPUs),
		top.Command(p.system),
		drainCommand(p),
		activateCommand(p),
		env.Command(),
		login.Command(p.system),
		login.Contexts(p.system),
		login.WhoAmI(p.system),
		access.Keys(p.system),
		access.CA(p.system),
		access.Certificates(p.system),
		access.Tokens(p.system),
		access.Teams(p.system),
		access.OIDC(p.system),
		access.Roles(p.system),
		access.Limits(p.system),
		access.Audit(p.system),
		bootstrap.Command(p.Unit, upCommand(p.Up).Flags),
		poolCommand(p),
		snapshotCommand(p),
		versionCommand(p),
		complete.Script(),
		reference.Command(),
		complete.Command(p.system, runFor(p), cmp.Or(p.patience, complete.Limit)),
		pauseCommand(p),
		hello.Command(),
	}
	return slices.Concat(all, machineCommands(p), simulationCommands(p))
}

// setupCommand sets the parts that all commands share.
func setupCommand(system invocation.System, command *cli.Command) {
	command.HideHelpCommand = true // an image or a task may be called "help"
	command.OnUsageError = wrapUsageError
	command.Before = func(c *cli.Context) error {
		c.App.Metadata[wantsJSON] = invocation.GlobalFlag(c, "output") == invocation.JSON
		return checkArguments(c)
	}
	if action := command.Action; action != nil {
		command.Action = func(c *cli.Context) error { return system.ExplainCluster(c, action(c)) }
	}
	command.Flags = append(command.Flags, invocation.CommandFlags(command.Flags)...)
	for _, below := range command.Subcommands {
		setupCommand(system, below)
	}
}

// globalNames are the names of the options of every command.
func globalNames() []string {
	names := []string{"help"}
	for _, flag := range invocation.GlobalFlags() {
		names = append(names, flag.Names()[0])
	}
	return names
}

// unknownCommand runs when the first word names no command.
func unknownCommand(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowAppHelp(c)
	}
	name := c.Args().First()
	if hint := suggest.Hint(name, commandNames(c.App.Commands)); hint != "" {
		return exit.Usagef("there is no command %q. %s", name, hint)
	}
	return exit.Usagef("there is no command %q; see pinion --help", name)
}

// commandNames are the names of the commands that the help shows.
func commandNames(commands []*cli.Command) (names []string) {
	for _, command := range commands {
		if !command.Hidden {
			names = append(names, command.Names()...)
		}
	}
	return names
}

func wrapUsageError(c *cli.Context, err error, _ bool) error {
	return exit.Usagef("%w; see %s --help", err, c.Command.HelpName)
}
