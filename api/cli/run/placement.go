package run

import (
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
)

// placementFlags are the flags that choose among the hosts.
func placementFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "on-host", Usage: "only on the host `NAME`; repeatable, for one of several"},
		&cli.StringFlag{Name: "gpu-model", Usage: "only on hosts whose GPUs all have `NAME` in their model, such as H100"},
		&cli.StringSliceFlag{Name: "constraint", Usage: "only on hosts that meet an `EXPRESSION` of ECS's query language, such as 'attribute:rack == r1' (pinion up --attribute); repeatable"},
		&cli.StringFlag{Name: "spread", Usage: "spread several tasks over each `WHAT`: host, or an attribute of hosts such as rack"},
	}
}

// AddPlacement adds what the flags ask of hosts to the input of RunTask or CreateService.
func AddPlacement(c *cli.Context, in map[string]any) error {
	expressions := c.StringSlice("constraint")
	if names := c.StringSlice("on-host"); len(names) > 0 {
		quoted := make([]string, len(names))
		for i, name := range names {
			quoted[i] = quote(name)
		}
		expressions = append(expressions, "ec2InstanceId in ["+strings.Join(quoted, ", ")+"]")
	}
	if model := c.String("gpu-model"); model != "" {
		// The models of a host that has several have commas between them.
		expressions = append(expressions, "attribute:pinion.gpu.model =~ "+quote("(?i)[^,]*"+regexp.QuoteMeta(model)+"[^,]*"))
	}
	var constraints []any
	for _, expression := range expressions {
		constraints = append(constraints, map[string]any{"type": "memberOf", "expression": expression})
	}
	if len(constraints) > 0 {
		in["placementConstraints"] = constraints
	}
	if !c.IsSet("spread") {
		return nil
	}
	over := c.String("spread")
	switch {
	case over == "":
		return exit.Usagef("--spread needs a value: host, or an attribute of hosts such as rack")
	case over != "host" && !strings.HasPrefix(over, "attribute:"):
		over = "attribute:" + over
	}
	in["placementStrategy"] = []any{map[string]any{"type": "spread", "field": over}}
	return nil
}

// quote is a value of the query language, in which a quote is written twice.
func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }
