// Package service is `pinion service`: it creates, changes, shows and removes services, and follows their rollouts.
package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/client"
)

// Command is `pinion service`. logs is its verb for the logs of the tasks.
func Command(system invocation.System, logs *cli.Command) *cli.Command {
	list := listCommand(system)
	return &cli.Command{
		Name: "service", Aliases: []string{"services"},
		Usage: "Keep tasks running: replicas, rolling updates, rollback",
		Description: `A service keeps so many equal tasks running, and replaces them one by one when it is updated.

Examples:
   pinion service create --name web --replicas 3 --gpus 1 -p 8000 my/server
   pinion service update web --image my/server:2
   pinion service ls`,
		Flags: list.Flags, Action: list.Action,
		Subcommands: []*cli.Command{
			createCommand(system), updateCommand(system), dryRunCommand(system), listCommand(system), inspectCommand(system), logs, scaleCommand(system),
			rollbackCommand(system), continueCommand(system), removeCommand(system), eventsCommand(system),
		},
	}
}

// describeLimit is the number of services that one DescribeServices may name.
const describeLimit = 10

// describe reads services that must all exist, with their documents.
func describe(ctx context.Context, inv *invocation.Invocation, cluster string, names []string) (all []listing.Item[client.Service], err error) {
	for batch := range slices.Chunk(names, describeLimit) {
		var out struct {
			Services []listing.Item[client.Service] `json:"services"`
			Failures []client.Failure               `json:"failures"`
		}
		in := map[string]any{"cluster": cluster, "services": batch, "include": []string{"TAGS"}}
		if err := inv.Client.Call(ctx, "DescribeServices", in, &out); err != nil {
			return nil, err
		}
		if len(out.Failures) > 0 {
			return nil, fmt.Errorf("cluster %s has no service %s; `pinion service ls` lists them", cluster, client.ResourceID(out.Failures[0].ARN))
		}
		all = append(all, out.Services...)
	}
	return all, nil
}

// find reads one service.
func find(ctx context.Context, inv *invocation.Invocation, cluster, name string) (client.Service, error) {
	found, err := describe(ctx, inv, cluster, []string{name})
	if err != nil {
		return client.Service{}, err
	}
	return found[0].Value, nil
}

// send runs an operation about a service, prints the warnings that come back, and returns the service of the answer.
func send(ctx context.Context, inv *invocation.Invocation, operation string, in map[string]any) (listing.Item[client.Service], error) {
	var out struct {
		Service listing.Item[client.Service] `json:"service"`
	}
	return out.Service, call(ctx, inv, operation, in, &out)
}
