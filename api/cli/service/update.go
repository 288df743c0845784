package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/run"
	"pinion/api/client"
)

// updateFlags say what changes of a service.
func updateFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "image", Usage: "run `IMAGE`: a new revision of the task definition is registered"},
		&cli.StringFlag{Name: "container", DefaultText: "the only one", Usage: "with --image, the container `NAME`"},
		&cli.StringFlag{Name: "definition", Usage: "run the task definition `FAMILY[:REVISION]`"},
		&cli.BoolFlag{Name: "force", Usage: "replace all tasks although nothing has changed"},
		&cli.IntFlag{Name: "replicas", DefaultText: "as before", Usage: "`N` tasks"},
	}, rolloutFlags()...)
}

func updateCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "update",
		Usage:     "Change a service and wait until its tasks have been replaced",
		ArgsUsage: "SERVICE",
		Description: `Another image or definition, or --force, replaces the tasks in a rollout; it shows new and old tasks until the service is steady. Ctrl-C leaves,
and the rollout goes on.

Examples:
   pinion service update web --image my/server:2
   pinion service update web --definition trainer:4 --replicas 5
   pinion service update web --force -d`,
		Flags: append(updateFlags(), detachFlag(), invocation.ClusterFlag()),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			in, document, err := updateInput(c, inv)
			if err != nil {
				return err
			}
			if document != nil {
				if in["taskDefinition"], _, err = inv.RegisterTaskDefinition(c.Context, "application/json", document); err != nil {
					return err
				}
			}
			changed, err := send(c.Context, inv, "UpdateService", in)
			if err != nil {
				return err
			}
			return finish(c.Context, inv, c.String("cluster"), changed, c.Bool("detach"))
		},
	}
}

// updateInput is the input of UpdateService, and the document of the revision that has to be registered for it, where --image asks for one.
func updateInput(c *cli.Context, inv *invocation.Invocation) (in map[string]any, document []byte, err error) {
	name, cluster := c.Args().First(), c.String("cluster")
	in = map[string]any{"cluster": cluster, "service": name, "forceNewDeployment": c.Bool("force")}
	if c.NArg() > 1 {
		return nil, nil, exit.Usagef("pinion service %s takes one service", c.Command.Name)
	}
	if c.IsSet("replicas") {
		in["desiredCount"] = c.Int("replicas")
	}
	if err := addRollout(c, in); err != nil {
		return nil, nil, err
	}
	switch {
	case c.String("image") != "" && c.String("definition") != "":
		return nil, nil, exit.Usagef("give --image or --definition, one of the two")
	case c.String("definition") != "":
		in["taskDefinition"] = c.String("definition")
	case c.String("image") != "":
		now, err := find(c.Context, inv, cluster, name)
		if err != nil {
			return nil, nil, err
		}
		document, err := run.WithImage(c.Context, inv, client.ResourceID(now.Definition), c.String("container"), c.String("image"))
		return in, document, err
	case len(in) == 3 && !c.Bool("force") && c.String("file") == "":
		return nil, nil, exit.Usagef("say what is to change: --image, --definition, --replicas or --force; see pinion service %s --help", c.Command.Name)
	}
	return in, nil, nil
}

type serviceCount struct {
	service string
	count   int
}

func parseCounts(words []string) (all []serviceCount, err error) {
	for _, word := range words {
		name, number, found := strings.Cut(word, "=")
		count, err := strconv.Atoi(number)
		if !found || name == "" || err != nil || count < 0 {
			return nil, exit.Usagef("%q is not SERVICE=N, such as web=3", word)
		}
		all = append(all, serviceCount{name, count})
	}
	return all, nil
}

func rollbackCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "rollback",
		Usage:     "Go back to what a service ran before",
		ArgsUsage: "SERVICE",
		Description: `A rollout in progress is stopped and rolled back. Without one, the task definition of the last other rollout that succeeded is deployed.

Examples:
   pinion service rollback web
   pinion service rollback web -d`,
		Flags: []cli.Flag{detachFlag(), invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			return rollBack(c.Context, inv, c.String("cluster"), c.Args().First(), c.Bool("detach"))
		},
	}
}

func rollBack(ctx context.Context, inv *invocation.Invocation, cluster, name string, detach bool) error {
	now, err := find(ctx, inv, cluster, name)
	if err != nil {
		return err
	}
	err = call(ctx, inv, "StopServiceDeployment", map[string]any{"serviceDeploymentArn": now.Rollout, "stopType": "ROLLBACK"}, nil)
	if err == nil {
		changed, err := describe(ctx, inv, cluster, []string{name})
		if err != nil {
			return err
		}
		return finish(ctx, inv, cluster, changed[0], detach)
	}
	if refused, is := errors.AsType[*client.APIError](err); !is || refused.Type != "ConflictException" || !now.Steady() {
		return err
	}
	before, err := previousDefinition(ctx, inv, cluster, now)
	if err != nil {
		return err
	}
	changed, err := send(ctx, inv, "UpdateService", map[string]any{"cluster": cluster, "service": name, "taskDefinition": before})
	if err != nil {
		return fmt.Errorf("go back to %s: %w", client.ResourceID(before), err)
	}
	return finish(ctx, inv, cluster, changed, detach)
}

// previousDefinition is the task definition of the newest rollout that succeeded with another one than the service has now.
func previousDefinition(ctx context.Context, inv *invocation.Invocation, cluster string, now client.Service) (string, error) {
	var rollouts struct {
		Deployments []struct {
			Revision string `json:"targetServiceRevisionArn"`
		} `json:"serviceDeployments"`
	}
	in := map[string]any{"cluster": cluster, "service": now.Name, "status": []string{"SUCCESSFUL"}}
	if err := call(ctx, inv, "ListServiceDeployments", in, &rollouts); err != nil {
		return "", err
	}
	for _, rollout := range rollouts.Deployments {
		var revisions struct {
			All []struct {
				Definition string `json:"taskDefinition"`
			} `json:"serviceRevisions"`
		}
		if err := call(ctx, inv, "DescribeServiceRevisions", map[string]any{"serviceRevisionArns": []string{rollout.Revision}}, &revisions); err != nil {
			return "", err
		}
		if len(revisions.All) == 1 && revisions.All[0].Definition != now.Definition {
			return revisions.All[0].Definition, nil
		}
	}
	return "", fmt.Errorf("no other rollout of %s has succeeded: there is nothing to go back to; `pinion service update %s --definition` deploys another definition", now.Name, now.Name)
}
