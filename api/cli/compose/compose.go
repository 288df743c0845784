// Package compose is `pinion compose`: it runs the services of a Compose file (compose-spec.io) as services of a cluster.
package compose

import (
	"slices"

	compose "github.com/compose-spec/compose-go/v2/cli"
	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/run"
)

// Command is `pinion compose`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "compose",
		Usage: "Run the services of a Compose file",
		Description: `Each service of the file becomes a service of the cluster, PROJECT-SERVICE. What Pinion has nothing for is refused by its name, before anything is
changed: docs/services.md lists what a file may have.

Examples:
   pinion compose up
   pinion compose up -f compose.yaml -p demo -d
   pinion compose config              # the task definitions, as JSON
   pinion service logs -f demo-web    # of the service web in the project demo
   pinion compose down`,
		Subcommands: []*cli.Command{upCommand(system), downCommand(system), configCommand(system)},
	}
}

func projectFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "file", Aliases: []string{"f"}, DefaultText: "compose.yaml", Usage: "Compose `FILE`; may be repeated, the later ones add to the others"},
		&cli.StringFlag{Name: "project-name", Aliases: []string{"p"}, DefaultText: "from the file or its directory", Usage: "`NAME` of the project"},
		&cli.StringSliceFlag{Name: "profile", Usage: "take the services of the profile `NAME` too; may be repeated"},
	}
}

func configCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "Show the task definitions that a Compose file makes, and change nothing",
		Description: `Examples:
   pinion compose config
   pinion compose config | jq '.[].containerDefinitions[].image'`,
		Flags: projectFlags(),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			p, err := load(c)
			if err != nil {
				return err
			}
			definitions := make([]run.Definition, len(p.services))
			for i, s := range p.services {
				definitions[i] = s.definition
			}
			return inv.PrintJSON(definitions)
		},
	}
}

// load reads the files that the flags name, or those that Compose looks for, and makes of them what the pool is to run.
func load(c *cli.Context) (*project, error) {
	if c.NArg() > 0 {
		return nil, exit.Usagef("pinion compose %s takes no service: all of the file's are meant; --profile chooses among them", c.Command.Name)
	}
	// Paths stay as they are written: those of volumes are paths of hosts.
	options, err := compose.NewProjectOptions(c.StringSlice("file"), compose.WithOsEnv, compose.WithDotEnv, compose.WithConfigFileEnv, compose.WithDefaultConfigPath,
		compose.WithName(c.String("project-name")), compose.WithProfiles(c.StringSlice("profile")), compose.WithResolvedPaths(false))
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	// The library warns of variables that are not set, and of members that mean nothing.
	logrus.SetOutput(c.App.ErrWriter)
	logrus.SetFormatter(plainWarning{})
	read, err := options.LoadProject(c.Context)
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	return newProject(read)
}

// plainWarning writes a warning of the library as the command writes its own: the message alone.
type plainWarning struct{}

// Format is logrus.Formatter.
func (plainWarning) Format(e *logrus.Entry) ([]byte, error) {
	return []byte(format.Plain(e.Message) + "\n"), nil
}

// healthyFirst reports whether a later service starts when this one is healthy.
func (p *project) healthyFirst(i int) bool {
	return slices.ContainsFunc(p.services[i+1:], func(later service) bool { return slices.Contains(later.afterHealthy, p.services[i].name) })
}
