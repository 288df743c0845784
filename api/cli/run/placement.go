package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/gpu"
	"pinion/raftfsm/query"
)

// placementFlags are the flags that choose among the hosts and their GPUs.
func placementFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "on-host", Usage: "only on the host `NAME`; repeatable, for one of several"},
		&cli.StringFlag{Name: "gpu-model", Usage: "only GPUs that have `NAME` in their model, such as H100, or one of several: 'H100|H200'"},
		&cli.StringFlag{Name: "gpu-alternatives", Usage: "in place of --gpus and --gpu-model: `MODEL:N/MODEL:N` in the order of preference, such as H200:1/H100:2 for one H200 or else two H100"},
		&cli.StringFlag{Name: "mig-profile", Usage: "MIG devices with the `PROFILE`, such as 1g.10gb, or one of several: '1g.10gb|1g.20gb'"},
		&cli.StringFlag{Name: "gpu-memory-min", Usage: "only GPUs with at least `SIZE` of memory; unlike in --gpu-memory, 80g is 80*10^9 bytes, as vendors count: an H100 80GB has it"},
		&cli.StringSliceFlag{Name: "constraint", Usage: "only hosts, and GPUs of them, that meet an `EXPRESSION` of ECS's query language, such as 'attribute:rack == r1' (pinion up --attribute); repeatable"},
		SubnetFlag(),
		&cli.StringFlag{Name: "spread", Usage: "spread several tasks over each `WHAT`: host, or an attribute of hosts such as rack"},
	}
}

// SubnetFlag names the networks of tasks that a task may have its address of.
func SubnetFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "subnet", DefaultText: "the only one there is", Usage: "`NAME` of the network of tasks that a task of networkMode awsvpc has its address of (pinion up --task-network); repeatable, for one of several"}
}

// AddSubnets adds the networks that the flags name to the input of RunTask or CreateService.
func AddSubnets(c *cli.Context, in map[string]any) {
	if subnets := c.StringSlice("subnet"); len(subnets) > 0 {
		in["networkConfiguration"] = map[string]any{"awsvpcConfiguration": map[string]any{"subnets": subnets}}
	}
}

// AddPlacement adds what the flags ask of hosts to the input of RunTask or CreateService.
func AddPlacement(c *cli.Context, in map[string]any) error {
	AddSubnets(c, in)
	expressions := c.StringSlice("constraint")
	if names := c.StringSlice("on-host"); len(names) > 0 {
		quoted := make([]string, len(names))
		for i, name := range names {
			quoted[i] = quote(name)
		}
		expressions = append(expressions, "ec2InstanceId in ["+strings.Join(quoted, ", ")+"]")
	}
	ofGPUs, err := gpuExpressions(c)
	if err != nil {
		return err
	}
	var constraints []map[string]any
	for _, expression := range append(expressions, ofGPUs...) {
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

// selectsGPUs reports whether a placement constraint is one on GPUs.
func selectsGPUs(placement map[string]any) bool {
	constraints, _ := placement["placementConstraints"].([]map[string]any)
	return slices.ContainsFunc(constraints, func(c map[string]any) bool {
		expression, _ := c["expression"].(string)
		parsed, err := query.Parse(expression)
		return err == nil && parsed.ReadsGPUs()
	})
}

// gpuExpressions are what the flags ask of each GPU.
func gpuExpressions(c *cli.Context) (expressions []string, err error) {
	models, err := alternatives(c, "gpu-model")
	if err != nil {
		return nil, err
	}
	if len(models) > 0 {
		expressions = append(expressions, query.GPUModels(models...))
	}
	profiles, err := alternatives(c, "mig-profile")
	if err != nil {
		return nil, err
	}
	if len(profiles) > 0 {
		for i := range profiles {
			profiles[i] = quote(profiles[i])
		}
		expressions = append(expressions, "attribute:"+gpu.AttributeMIGProfile+" in ["+strings.Join(profiles, ", ")+"]")
	}
	if text := c.String("gpu-memory-min"); text != "" {
		mib, err := format.ParseMemory(text)
		if err != nil {
			return nil, exit.Usagef("--gpu-memory-min %w", err)
		}
		expressions = append(expressions, fmt.Sprintf("attribute:%s >= %d", gpu.AttributeMemory, vendorMiB(mib)))
	}
	return expressions, nil
}

// alternatives are the names that a flag gives with | between them.
func alternatives(c *cli.Context, flag string) ([]string, error) {
	text := c.String(flag)
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, "|")
	for i, name := range names {
		if names[i] = strings.TrimSpace(name); names[i] == "" {
			return nil, exit.Usagef("--%s %s: write names with | between them", flag, text)
		}
	}
	return names, nil
}

// vendorMiB converts MiB of which 1024 are a gigabyte to those of a memory with as many gigabytes of 10^9 bytes.
func vendorMiB(mib int64) int64 { return int64(float64(mib) * 1e9 / (1 << 30)) }

// quote is a value of the query language, in which a quote is written twice.
func quote(value string) string { return "'" + strings.ReplaceAll(value, "'", "''") + "'" }
