package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/table"
	"pinion/api/client"
	"pinion/raftfsm/lazyregexp"
)

func listCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name: "ls", Aliases: []string{"list"},
		Usage: "List services with their tasks and rollouts",
		Description: `TASKS is how many run of how many are wanted. ROLLOUT is "steady", or how many tasks of the newest
deployment run, and how many old ones are left.

Examples:
   pinion service ls
   pinion service ls --watch
   pinion service ls --filter name='web*' -o json`,
		Flags:  append(listing.Flags(), invocation.QuietFlag(), invocation.WatchFlag(), invocation.ClusterFlag()),
		Action: listing.Action(system, list),
	}
}

func list(ctx context.Context, c *cli.Context, inv *invocation.Invocation) (listing.List[client.Service], error) {
	cluster := c.String("cluster")
	names, err := client.ServiceNames(ctx, inv.Client, cluster)
	if err != nil {
		return listing.List[client.Service]{}, err
	}
	services, err := describe(ctx, inv, cluster, names)
	if err != nil {
		return listing.List[client.Service]{}, err
	}
	return listing.List[client.Service]{
		Items: services, ID: func(s client.Service) string { return s.Name }, Fields: map[string]func(client.Service) []string{"name": func(s client.Service) []string { return []string{s.Name} }},
		Table: func(shown []client.Service) (*table.Table, error) { return serviceTable(inv, shown, cluster), nil },
	}, nil
}

func serviceTable(inv *invocation.Invocation, services []client.Service, cluster string) *table.Table {
	t := &table.Table{Header: []string{"NAME", "TASKS", "DEFINITION", "STRATEGY", "AGE", "ROLLOUT"}, Optional: []string{"STRATEGY", "AGE"},
		Empty: "no services in cluster " + cluster + "; `pinion service create` makes one"}
	for _, s := range services {
		t.Add(s.Name, tasksOf(s), client.ResourceID(s.Definition), s.Strategy, format.Age(inv.Now().Sub(s.CreatedAt.Time)), rolloutOf(&s))
	}
	return t
}

// tasksOf is "2/3": how many run of how many are wanted.
func tasksOf(s client.Service) string { return strconv.Itoa(s.Running) + "/" + strconv.Itoa(s.Desired) }

// rolloutOf is how far the newest deployment of a service has got.
func rolloutOf(s *client.Service) string {
	p := s.Primary()
	switch {
	case s.Status == "ACTIVE" && s.IsExternal():
		return taskSetsOf(s)
	case s.Status != "ACTIVE" || p == nil:
		return s.Status
	case s.Steady():
		return "steady"
	case p.State == "FAILED":
		return "failed: " + p.Reason
	}
	text := fmt.Sprintf("%d of %d new", p.Running, p.Desired)
	if old := s.Running + s.Pending - p.Running - p.Pending; old > 0 {
		text += fmt.Sprintf(", %d old", old)
	}
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	return text
}

// taskSetsOf is how many task sets a service has, and how many of them are not steady.
func taskSetsOf(s *client.Service) string {
	moving := 0
	for _, set := range s.TaskSets {
		if set.Stability != "STEADY_STATE" {
			moving++
		}
	}
	if moving == 0 {
		return fmt.Sprintf("%d task sets, steady", len(s.TaskSets))
	}
	return fmt.Sprintf("%d task sets, %d not steady", len(s.TaskSets), moving)
}

func inspectCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "inspect",
		Usage:     "Show services as JSON",
		ArgsUsage: "SERVICE...",
		Description: `Shows what DescribeServices answers: deployments, settings, events; and with 'scaling' what the number of tasks follows.

Examples:
   pinion service inspect web
   pinion service inspect web | jq '.[].events[0].message'`,
		Flags: []cli.Flag{invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			services, err := describe(c.Context, inv, c.String("cluster"), c.Args().Slice())
			if err != nil {
				return err
			}
			documents, err := withScaling(c.Context, inv, c.String("cluster"), services)
			if err != nil {
				return err
			}
			return inv.PrintJSON(documents)
		},
	}
}

func eventsCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "events",
		Usage:     "Show the events of a service",
		ArgsUsage: "SERVICE",
		Description: `Shows the last 100 events, the oldest first; with -f new ones as they happen. With -o json each event is one line.

Examples:
   pinion service events web
   pinion service events web -f`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "follow new events until Ctrl-C"}, invocation.ClusterFlag()},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			return printEvents(c.Context, inv, c.String("cluster"), c.Args().First(), c.Bool("follow"))
		},
	}
}

// printEvents prints the events of a service, and with follow those that come until ctx ends.
func printEvents(ctx context.Context, inv *invocation.Invocation, cluster, name string, follow bool) error {
	last := ""
	for {
		var s client.Service
		err := inv.RetryUnavailable(ctx, func() (err error) { s, err = find(ctx, inv, cluster, name); return err })
		if ctx.Err() != nil {
			return nil // Ctrl-C is how following ends
		}
		if err != nil {
			return err
		}
		for _, e := range newEvents(&s, last) {
			if err := printEvent(inv, e); err != nil {
				return err
			}
			last = e.ID
		}
		if !follow || inv.Sleep(ctx, pollInterval) != nil {
			return nil
		}
	}
}

// newEvents are the events after the one with that id, the oldest first; all where it is not there any more.
func newEvents(s *client.Service, last string) []client.ServiceEvent {
	all := slices.Clone(s.Events)
	slices.Reverse(all)
	if at := slices.IndexFunc(all, func(e client.ServiceEvent) bool { return e.ID == last }); at >= 0 {
		return all[at+1:]
	}
	return all
}

func printEvent(inv *invocation.Invocation, e client.ServiceEvent) error {
	if inv.Output == invocation.JSON {
		return printLine(inv, e)
	}
	_, err := fmt.Fprintf(inv.Out, "%s  %s\n", inv.Time(e.CreatedAt.Time), format.Plain(eventText(e)))
	return err
}

// startedText is what ECS says of tasks that a service has made.
var startedText = lazyregexp.New(`^(\(service [^)]*\)) has started ([0-9]+ tasks:)`)

// eventText is the message of an event as it is true here: in ECS a task that a service starts has its place, in Pinion it may wait for one in the queue. JSON has
// ECS's words.
func eventText(e client.ServiceEvent) string {
	return startedText.ReplaceAllString(e.Message, "$1 has made $2")
}
