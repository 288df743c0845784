package service

import (
	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/cli/run"
)

// notOfServices are flags of `pinion run` that a service has no use for: it starts and replaces each task by itself, under its own name.
var notOfServices = []string{"array", "gang", "group", "after", "retries", "retry-on", "no-wait", "wait-for-host", "hold", "name", "gpu-alternatives"}

// CreateFromRun creates the service that --service of `pinion run` names, of the tasks that its other flags describe.
func CreateFromRun(c *cli.Context, inv *invocation.Invocation) error {
	var wrong []error
	for _, flag := range notOfServices {
		if c.IsSet(flag) {
			wrong = append(wrong, exit.Usagef("--%s is not for services, which start and replace each task by themselves: leave it out", flag))
		}
	}
	if c.String("service") == "" {
		wrong = append(wrong, exit.Usagef("--service needs a name"))
	}
	in := newInput(c)
	in["desiredCount"] = c.Int("count")
	in["deploymentConfiguration"] = map[string]any{"deploymentCircuitBreaker": rollBackByItself()}
	tags, err := run.ParseTags(c)
	wrong = append(wrong, run.AddPlacement(c, in), err)
	if len(tags) > 0 {
		in["tags"] = tags
	}
	return create(c, inv, in, c.String("service"), exit.Join(wrong...))
}
