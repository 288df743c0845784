package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/cli/run"
	services "pinion/api/cli/service"
	"pinion/api/client"
	"pinion/raftfsm/spec"
)

func detachFlag() cli.Flag {
	return &cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "return as soon as the requests are recorded"}
}

func upCommand(system invocation.System) *cli.Command {
	own := []cli.Flag{&cli.BoolFlag{Name: "remove-orphans", Usage: "remove services of the project that the file has no more"}, detachFlag(), invocation.ClusterFlag()}
	return &cli.Command{
		Name:  "up",
		Usage: "Create and update the services of a Compose file, and wait until they run",
		Description: `A service whose definition has changed is replaced in a rollout, the others go on. A service starts after those that it depends on, and with
service_healthy when they are steady. Prints the names.

Examples:
   pinion compose up
   pinion compose up -f compose.yaml -p demo -d
   pinion compose up --remove-orphans`,
		Flags: slices.Concat(projectFlags(), own),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			p, err := load(c)
			if err != nil {
				return err
			}
			u := upgrade{project: p, inv: inv, cluster: c.String("cluster"), detach: c.Bool("detach")}
			if err := u.removeOrphans(c.Context, c.Bool("remove-orphans")); err != nil {
				return err
			}
			return u.run(c.Context)
		},
	}
}

// upgrade makes the services of a cluster those of a project.
type upgrade struct {
	project *project
	inv     *invocation.Invocation
	cluster string
	detach  bool
}

func (u *upgrade) run(ctx context.Context) error {
	var begun []listing.Item[client.Service] // and not followed yet
	for i, s := range u.project.services {
		first := u.project.healthyFirst(i)
		if first && u.detach {
			return exit.Usagef("another service starts when %s is healthy: leave -d out, to wait for it", s.name)
		}
		changed, err := u.apply(ctx, s)
		if err != nil {
			return fmt.Errorf("service %s: %w", s.name, err)
		}
		if begun = append(begun, changed); !first {
			continue
		}
		if err := u.finish(ctx, begun); err != nil {
			return err
		}
		begun = nil
	}
	return u.finish(ctx, begun)
}

// finish prints the names of services that were changed, once they are steady unless detach is set.
func (u *upgrade) finish(ctx context.Context, begun []listing.Item[client.Service]) error {
	for _, changed := range begun {
		if !u.detach {
			if err := services.Follow(ctx, u.inv, u.cluster, changed.Value); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(u.inv.Out, changed.Value.Name); err != nil {
			return err
		}
	}
	return nil
}

func (u *upgrade) apply(ctx context.Context, s service) (listing.Item[client.Service], error) {
	revision, err := run.Register(ctx, u.inv, s.definition)
	if err != nil {
		return listing.Item[client.Service]{}, err
	}
	wanted := services.Spec{Cluster: u.cluster, Name: s.name, Definition: revision, Settings: s.settings, Tags: s.tags}
	changed, err := services.Apply(ctx, u.inv, wanted)
	if less, note := s.lessNames(err); less != nil {
		u.inv.Notef("%s", note)
		wanted.Settings = less
		return services.Apply(ctx, u.inv, wanted)
	}
	return changed, err
}

// removeOrphans removes the services of the project that the file has no more, or says that they are there.
func (u *upgrade) removeOrphans(ctx context.Context, remove bool) error {
	known, err := services.Tagged(ctx, u.inv, u.cluster, spec.Tag{Key: tagProject, Value: u.project.name})
	if err != nil {
		return err
	}
	orphans := slices.DeleteFunc(known, func(name string) bool {
		return slices.ContainsFunc(u.project.services, func(s service) bool { return s.name == name })
	})
	if len(orphans) > 0 && !remove {
		u.inv.Notef("the project %s also has %s, which the file has no more: --remove-orphans removes them", u.project.name, strings.Join(orphans, ", "))
		return nil
	}
	return removeAll(ctx, u.inv, u.cluster, orphans, u.detach)
}

// removeAll removes services, and waits until their tasks have stopped unless detach is set.
func removeAll(ctx context.Context, inv *invocation.Invocation, cluster string, names []string, detach bool) error {
	for _, name := range names {
		if err := services.Remove(ctx, inv, cluster, name, detach); err != nil {
			return fmt.Errorf("service %s: %w", name, err)
		}
		if _, err := fmt.Fprintln(inv.Out, name); err != nil {
			return err
		}
	}
	return nil
}

func downCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:  "down",
		Usage: "Remove the services of a project, and stop their tasks",
		Description: `Removes all services of the project, also those that the file has no more. Named volumes and task definitions stay. Prints the names.

Examples:
   pinion compose down
   pinion compose down -p demo -d     # with -p no file is needed`,
		Flags: append(projectFlags(), detachFlag(), invocation.ClusterFlag()),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			project := c.String("project-name")
			if project == "" {
				p, err := load(c)
				if err != nil {
					return err
				}
				project = p.name
			}
			names, err := services.Tagged(c.Context, inv, c.String("cluster"), spec.Tag{Key: tagProject, Value: project})
			if err != nil {
				return err
			}
			if len(names) == 0 {
				inv.Notef("the cluster %s has no services of the project %s", c.String("cluster"), project)
			}
			slices.Reverse(names)
			return removeAll(c.Context, inv, c.String("cluster"), names, c.Bool("detach"))
		},
	}
}
