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

func listCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage:     "List the families, or the revisions of a family",
		ArgsUsage: "[FAMILY]",
		Description: `Lists those that can be run; the newest revision is the first.

Examples:
   pinion definition ls
   pinion definition ls trainer`,
		Action: func(c *cli.Context) error {
			if c.NArg() > 1 {
				return exit.Usagef("pinion definition ls takes one family")
			}
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			operation, in := "ListTaskDefinitionFamilies", map[string]any{"status": "ACTIVE"}
			if family := c.Args().First(); family != "" {
				operation, in = "ListTaskDefinitions", map[string]any{"familyPrefix": family, "sort": "DESC"}
			}
			return list(c.Context, inv, operation, in)
		},
	}
}

// list prints all pages of a list of definitions.
func list(ctx context.Context, inv *invocation.Invocation, operation string, in map[string]any) error {
	names := []string{} // none is [], not null
	for {
		var page struct {
			Families []string `json:"families"`
			ARNs     []string `json:"taskDefinitionArns"`
			Next     string   `json:"nextToken"`
		}
		if err := inv.Client.Call(ctx, operation, in, &page); err != nil {
			return err
		}
		names = append(names, page.Families...)
		for _, arn := range page.ARNs {
			names = append(names, client.ResourceID(arn))
		}
		if page.Next == "" {
			break
		}
		in["nextToken"] = page.Next
	}
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(names)
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(inv.Out, name); err != nil {
			return err
		}
	}
	return nil
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
		Description: `Tasks that run go on. A revision is gone for good when no task uses it any more.

Examples:
   pinion definition rm trainer:2
   pinion definition ls run-cuda | xargs pinion definition rm`,
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
