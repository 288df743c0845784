package service

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/run"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// familyPrefix begins the families of task definitions that are made for services.
const familyPrefix = "service-"

func detachFlag() cli.Flag {
	return &cli.BoolFlag{Name: "detach", Aliases: []string{"d"}, Usage: "return as soon as the request is recorded"}
}

// rolloutFlags say how tasks replace others.
func rolloutFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "min-healthy", DefaultText: "100", Usage: "`PERCENT` of the replicas that stay healthy in a rollout"},
		&cli.IntFlag{Name: "max", DefaultText: "200", Usage: "`PERCENT` of the replicas that there are at most in a rollout"},
		&cli.StringFlag{Name: "grace", Usage: "`TIME` in which a new task need not be healthy, such as 10m while a model loads"},
		&cli.BoolFlag{Name: "no-rebalance", Usage: "leave replicas where they run, also when another availability zone has fewer"},
		&cli.BoolFlag{Name: "no-rollback", Usage: "when tasks of a rollout keep failing, go on trying"},
	}
}

func createCommand(system invocation.System) *cli.Command {
	own := []cli.Flag{
		&cli.StringFlag{Name: "name", DefaultText: "from the image", Usage: "`NAME` of the service"},
		&cli.IntFlag{Name: "replicas", Value: 1, Usage: "`N` tasks"},
		&cli.BoolFlag{Name: "daemon", Usage: "one task on every host, in place of --replicas"},
		&cli.StringFlag{Name: "team", Usage: "`NAME` of the team that the tasks count for"},
		&cli.IntFlag{Name: "priority", DefaultText: "0", Usage: "priority `N` of the tasks while they wait, 0 to 100"},
		&cli.StringFlag{Name: "rollout", DefaultText: "stop-first unless --min-healthy is given", Usage: "`WHAT` a rollout does without room for new tasks: stop-first or wait"},
		run.AliasFlag(),
		run.NoExecFlag(),
		run.SubnetFlag(),
		&cli.StringFlag{Name: "healthy-after", DefaultText: "40s", Usage: "a task without a health check is healthy `TIME` after its start"},
	}
	return &cli.Command{
		Name:      "create",
		Usage:     "Create a service and wait until its tasks run",
		ArgsUsage: "IMAGE|FAMILY[:REVISION] [COMMAND...]",
		Description: `Registers a task definition for the image (family service-NAME), or takes a registered one, and keeps tasks of it running. It shows new and old
tasks until the service is steady. Ctrl-C leaves, and the rollout goes on. A rollout whose tasks keep failing is rolled back by itself.

Examples:
   pinion service create --name web --replicas 3 --gpus 1 -p 8000 my/server
   pinion service create --replicas 2 --grace 10m trainer:3
   pinion service create --name llm --alias llm:80 -p 8000 my/server    # http://llm in tasks
   pinion service create --name exporter --daemon -d my/exporter`,
		Flags: slices.Concat(own, rolloutFlags(), []cli.Flag{detachFlag(), invocation.ClusterFlag()}, run.DefinitionFlags()),
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			in, wrong := createInput(c)
			return create(c, inv, in, c.String("name"), wrong)
		},
	}
}

// create creates the service of that name of a command line, the image's when it is empty, and follows it. wrong is what is wrong with the flags
// of services: it is shown with what is wrong with those of the definition.
func create(c *cli.Context, inv *invocation.Invocation, in map[string]any, name string, wrong error) (err error) {
	if in["serviceName"], in["taskDefinition"], err = run.DefinitionFor(c.Context, c, inv, familyPrefix, name, wrong); err != nil {
		return err
	}
	created, err := send(c.Context, inv, "CreateService", in)
	if err != nil {
		return err
	}
	return finish(c.Context, inv, c.String("cluster"), created, c.Bool("detach"))
}

// newInput is what every input of CreateService has that a command line makes.
func newInput(c *cli.Context) map[string]any {
	return map[string]any{"cluster": c.String("cluster"), "clientToken": strings.ToLower(rand.Text()), "propagateTags": "SERVICE", "enableExecuteCommand": !c.Bool("no-exec")}
}

// rollBackByItself ends a rollout whose tasks keep failing.
func rollBackByItself() map[string]any { return map[string]any{"enable": true, "rollback": true} }

// createInput is the input of CreateService without the name and the definition. The error is all that is wrong with the flags.
func createInput(c *cli.Context) (map[string]any, error) {
	in := newInput(c)
	run.AddSubnets(c, in)
	var wrong []error
	switch {
	case c.Bool("daemon") && c.IsSet("replicas"):
		wrong = append(wrong, exit.Usagef("give --daemon or --replicas, one of the two"))
	case c.Bool("daemon"):
		in["schedulingStrategy"] = string(service.Daemon)
	default:
		in["desiredCount"] = c.Int("replicas")
	}
	wrong = append(wrong, addRollout(c, in))
	deployment, _ := in["deploymentConfiguration"].(map[string]any)
	if deployment == nil {
		deployment = map[string]any{}
	}
	if !c.Bool("no-rollback") {
		deployment["deploymentCircuitBreaker"] = rollBackByItself()
	}
	in["deploymentConfiguration"] = deployment
	alias, err := run.ParseAlias(c)
	wrong = append(wrong, err)
	if alias != nil {
		in["serviceConnectConfiguration"] = alias.Connect()
	}
	var tags []spec.Tag
	for _, flag := range []struct{ name, tag string }{{"team", spec.TagTeam}, {"rollout", service.TagRollout}, {"healthy-after", service.TagHealthyAfter}} {
		if value := c.String(flag.name); value != "" {
			tags = append(tags, spec.Tag{Key: flag.tag, Value: value})
		}
	}
	if c.IsSet("priority") {
		tags = append(tags, spec.Tag{Key: spec.TagPriority, Value: strconv.Itoa(c.Int("priority"))})
	}
	if len(tags) > 0 {
		in["tags"] = tags
	}
	return in, exit.Join(wrong...)
}

// addRollout adds what the flags of rolloutFlags say to an input of CreateService or UpdateService.
func addRollout(c *cli.Context, in map[string]any) error {
	deployment := map[string]any{}
	for flag, member := range map[string]string{"min-healthy": "minimumHealthyPercent", "max": "maximumPercent"} {
		if c.IsSet(flag) {
			deployment[member] = c.Int(flag)
		}
	}
	if c.IsSet("no-rollback") {
		on := !c.Bool("no-rollback")
		deployment["deploymentCircuitBreaker"] = map[string]any{"enable": on, "rollback": on}
	}
	if len(deployment) > 0 {
		in["deploymentConfiguration"] = deployment
	}
	switch {
	case c.Bool("no-rebalance"), c.IsSet("max") && c.Int("max") <= 100: // to move a replica takes one more for a while
		in["availabilityZoneRebalancing"] = service.NotRebalanced
	case c.IsSet("no-rebalance"):
		in["availabilityZoneRebalancing"] = service.Rebalanced
	}
	if text := c.String("grace"); text != "" {
		grace, err := time.ParseDuration(text)
		if err != nil || grace < 0 {
			return exit.Usagef("--grace %q is not a time such as 90s or 10m", text)
		}
		in["healthCheckGracePeriodSeconds"] = int(grace.Seconds())
	}
	return nil
}
