package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/client"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
)

// metrics are what --target can name.
var metrics = map[string]metric.Name{"cpu": metric.CPU, "memory": metric.Memory, "gpu": metric.GPU, "queue-depth": metric.QueueDepth, "requests": metric.InFlight, "requests-per-minute": metric.Requests}

// exported begins what --target names of the metrics that containers export.
const exported = "prometheus/"

func metricNames() string {
	return strings.Join(slices.Sorted(maps.Keys(metrics)), ", ") + " and " + exported + "NAME"
}

// metricOf is the namespace and the name of what --target names; no name of what it cannot.
func metricOf(word string) (namespace string, name metric.Name) {
	if of, is := strings.CutPrefix(word, exported); is {
		return scaling.NamespaceExported, metric.Name(of)
	}
	return scaling.Namespace, metrics[word]
}

// policyName is a word without what the name of a policy cannot have.
var policyName = strings.NewReplacer("/", "-", ":", "-")

func scaleCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "scale",
		Usage:     "Set the number of tasks of services, or have it follow their load",
		ArgsUsage: "SERVICE=N... | SERVICE",
		Description: `Tasks are started and stopped until there are so many; none is replaced. With --min and --max the number follows what --target says,
between the two: METRIC=VALUE keeps the metric per task near the value. 'pinion service events' tells of each decision.

Examples:
   pinion service scale web=5
   pinion service scale web=0 worker=0 -d
   pinion service scale web --min 1 --max 6 --target cpu=60
   pinion service scale web --min 0 --max 6 --target requests=4 --in-cooldown 10m
   pinion service scale web --target prometheus/vllm:num_requests_waiting=4
   pinion service scale web --fixed`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "min", DefaultText: "as before", Usage: "`N` tasks at least"},
			&cli.IntFlag{Name: "max", DefaultText: "as before", Usage: "`N` tasks at most"},
			&cli.StringSliceFlag{Name: "target", Usage: "keep `METRIC=VALUE`: " + metricNames()},
			&cli.DurationFlag{Name: "out-cooldown", Value: scaling.DefaultCooldown, Usage: "wait `DURATION` between two steps up"},
			&cli.DurationFlag{Name: "in-cooldown", Value: scaling.DefaultCooldown, Usage: "scale in when the load was gone for `DURATION`"},
			&cli.BoolFlag{Name: "fixed", Usage: "follow no load any more"},
			detachFlag(), invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if c.IsSet("min") || c.IsSet("max") || c.IsSet("target") || c.Bool("fixed") {
				return follow(c, inv)
			}
			return setCounts(c, inv)
		},
	}
}

// setCounts sets the number of tasks of services.
func setCounts(c *cli.Context, inv *invocation.Invocation) error {
	counts, err := parseCounts(c.Args().Slice())
	if err != nil {
		return err
	}
	for _, given := range counts {
		changed, err := send(c.Context, inv, "UpdateService", map[string]any{"cluster": c.String("cluster"), "service": given.service, "desiredCount": given.count})
		if err == nil {
			err = finish(c.Context, inv, c.String("cluster"), changed, c.Bool("detach"))
		}
		if err != nil {
			return fmt.Errorf("service %s: %w", given.service, err)
		}
	}
	return nil
}

// follow has a service follow its load, or no load any more.
func follow(c *cli.Context, inv *invocation.Invocation) error {
	if c.NArg() != 1 || strings.Contains(c.Args().First(), "=") {
		return exit.Usagef("name one service, without a number: pinion service scale web --min 1 --max 6 --target cpu=60")
	}
	of := func(more map[string]any) map[string]any {
		maps.Copy(more, scalable(c.String("cluster"), c.Args().First()))
		return more
	}
	if c.Bool("fixed") {
		if c.IsSet("min") || c.IsSet("max") || c.IsSet("target") {
			return exit.Usagef("give --fixed, or --min, --max and --target")
		}
		return inv.Client.Call(c.Context, "DeregisterScalableTarget", of(map[string]any{}), nil)
	}
	policies, err := parseTargets(c)
	if err != nil {
		return err
	}
	register := map[string]any{}
	for flag, member := range map[string]string{"min": "MinCapacity", "max": "MaxCapacity"} {
		if c.IsSet(flag) {
			register[member] = c.Int(flag)
		}
	}
	if err := inv.Client.Call(c.Context, "RegisterScalableTarget", of(register), nil); err != nil {
		return err
	}
	for _, policy := range policies {
		if err := inv.Client.Call(c.Context, "PutScalingPolicy", of(policy), nil); err != nil {
			return err
		}
	}
	return nil
}

// parseTargets makes a policy of each --target, which has the name of its metric.
func parseTargets(c *cli.Context) (policies []map[string]any, err error) {
	for _, word := range c.StringSlice("target") {
		name, number, _ := strings.Cut(word, "=")
		value, err := strconv.ParseFloat(number, 64)
		namespace, source := metricOf(name)
		if source == "" || err != nil || value <= 0 {
			return nil, exit.Usagef("%q is not METRIC=VALUE, such as cpu=60: there are %s, and a value is more than 0", word, metricNames())
		}
		policies = append(policies, map[string]any{
			"PolicyName": policyName.Replace(name), "PolicyType": "TargetTrackingScaling",
			"TargetTrackingScalingPolicyConfiguration": map[string]any{
				"TargetValue": value, "ScaleOutCooldown": int(c.Duration("out-cooldown") / time.Second), "ScaleInCooldown": int(c.Duration("in-cooldown") / time.Second),
				"CustomizedMetricSpecification": map[string]any{"Namespace": namespace, "MetricName": source, "Statistic": "Average"},
			},
		})
	}
	return policies, nil
}

// scalable names a service to Application Auto Scaling.
func scalable(cluster, service string) map[string]any {
	return map[string]any{"ServiceNamespace": "ecs", "ResourceId": "service/" + cluster + "/" + service, "ScalableDimension": "ecs:service:DesiredCount"}
}

// withScaling adds to the document of each service how it is scaled, where it is.
func withScaling(ctx context.Context, inv *invocation.Invocation, cluster string, services []listing.Item[client.Service]) ([]json.RawMessage, error) {
	var documents []json.RawMessage
	for _, s := range services {
		var target struct {
			ScalableTargets []json.RawMessage
		}
		id := scalable(cluster, s.Value.Name)
		if err := inv.Client.Call(ctx, "DescribeScalableTargets", map[string]any{"ServiceNamespace": "ecs", "ResourceIds": []any{id["ResourceId"]}}, &target); err != nil {
			return nil, err
		}
		document, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		if len(target.ScalableTargets) == 1 {
			var more struct {
				Target json.RawMessage   `json:"target"`
				All    []json.RawMessage `json:"policies"`
				Times  []json.RawMessage `json:"scheduledActions"`
			}
			var policies struct{ ScalingPolicies []json.RawMessage }
			var actions struct{ ScheduledActions []json.RawMessage }
			if err := inv.Client.Call(ctx, "DescribeScalingPolicies", id, &policies); err != nil {
				return nil, err
			}
			if err := inv.Client.Call(ctx, "DescribeScheduledActions", id, &actions); err != nil {
				return nil, err
			}
			more.Target, more.All, more.Times = target.ScalableTargets[0], policies.ScalingPolicies, actions.ScheduledActions
			text, err := json.Marshal(more)
			if err != nil {
				return nil, err
			}
			document = fmt.Appendf(document[:len(document)-1], `,"scaling":%s}`, text)
		}
		documents = append(documents, document)
	}
	return documents, nil
}
