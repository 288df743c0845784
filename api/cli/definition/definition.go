// Package definition is the commands about task definitions.
package definition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// Command is the command `pinion definition`.
func Command(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "definition", Aliases: []string{"definitions"},
		Usage: "List, show, register and remove task definitions",
		Description: `A task definition says what the containers of a task are. Each registration of a family makes a new revision, FAMILY:REVISION.

Examples:
   pinion definition ls
   pinion definition ls trainer
   pinion definition show trainer:3`,
		Subcommands: []*cli.Command{listCommand(system), showCommand(system), Register(system), removeCommand(system)},
	}
}

func showCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "show", Aliases: []string{"inspect"},
		Usage:     "Show a task definition as JSON",
		ArgsUsage: "FAMILY[:REVISION]",
		Description: `Without a revision it is the newest that can be run.

Examples:
   pinion definition show trainer
   pinion definition show trainer:3 | jq '.containerDefinitions[].image'`,
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return exit.Usagef("pinion definition show takes one definition")
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			var out struct {
				Definition json.RawMessage `json:"taskDefinition"`
			}
			if err := inv.Client.Call(c.Context, "DescribeTaskDefinition", map[string]any{"taskDefinition": c.Args().First()}, &out); err != nil {
				return err
			}
			return inv.PrintJSON(out.Definition)
		},
	}
}

func removeCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "Remove revisions: no further task can be started of them",
		ArgsUsage: "FAMILY:REVISION...",
		Description: `Running tasks are not affected. A revision is deleted as soon as no task uses it.

Examples:
   pinion definition rm trainer:2
   pinion definition ls -q run-cuda | xargs pinion definition rm`,
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			for _, name := range c.Args().Slice() {
				if !strings.Contains(name, ":") {
					return exit.Usagef("%s names a family: give a revision too, such as %s:1; `pinion definition ls %s` lists them", name, name, name)
				}
				if err := remove(c.Context, inv, name); err != nil {
					return fmt.Errorf("definition %s: %w", name, err)
				}
				fmt.Fprintln(inv.Out, name)
			}
			return nil
		},
	}
}

// remove makes a revision inactive, and then deletes it.
func remove(ctx context.Context, inv *invocation.Invocation, name string) error {
	if err := inv.Client.Call(ctx, "DeregisterTaskDefinition", map[string]any{"taskDefinition": name}, nil); err != nil {
		return err
	}
	var out struct {
		Failures []client.Failure `json:"failures"`
	}
	if err := inv.Client.Call(ctx, "DeleteTaskDefinitions", map[string]any{"taskDefinitions": []string{name}}, &out); err != nil {
		return err
	}
	if len(out.Failures) > 0 {
		return errors.New(strings.TrimSpace(out.Failures[0].Reason + " " + out.Failures[0].Detail))
	}
	return nil
}
