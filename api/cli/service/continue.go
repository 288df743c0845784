package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/raftfsm/service"
)

func continueCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "continue",
		Usage:     "Continue a rollout that is paused at a hook",
		ArgsUsage: "SERVICE",
		Description: `Lifecycle hooks of the deployment configuration with the targetType PAUSE have a rollout wait at their stages, until this command or
ContinueServiceDeployment answers each of them. With --rollback the service goes back to what it ran before.

Examples:
   pinion service continue web
   pinion service continue web --rollback
   pinion service continue web --hook ecs-pause-41fc8dd0 -d`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "rollback", Usage: "roll back instead"},
			&cli.StringFlag{Name: "hook", DefaultText: "all that wait", Usage: "answer the hook `ID` alone"},
			detachFlag(), invocation.ClusterFlag(),
		},
		Action: func(c *cli.Context) error {
			inv, err := system.Invoke(c)
			if err != nil {
				return err
			}
			if c.NArg() != 1 {
				return exit.Usagef("name one service: pinion service continue web")
			}
			action := service.HookContinue
			if c.Bool("rollback") {
				action = service.HookRollback
			}
			return answer(c.Context, inv, c, action)
		},
	}
}

// answer answers the hooks that a rollout waits for, and follows it.
func answer(ctx context.Context, inv *invocation.Invocation, c *cli.Context, action service.HookAction) error {
	name, cluster := c.Args().First(), c.String("cluster")
	now, err := find(ctx, inv, cluster, name)
	if err != nil {
		return err
	}
	paused, err := pauseOf(ctx, inv, now.Rollout)
	if err != nil {
		return err
	}
	hooks := paused.waiting()
	if only := c.String("hook"); only != "" {
		hooks = slices.DeleteFunc(hooks, func(h pausedHook) bool { return h.ID != only })
	}
	if len(hooks) == 0 {
		return fmt.Errorf("no such hook of %s waits for an answer; `pinion service events %s` says what the service does", name, name)
	}
	for i, h := range hooks {
		in := map[string]any{"serviceDeploymentArn": now.Rollout, "hookId": h.ID, "action": action}
		if err := call(ctx, inv, "ContinueServiceDeployment", in, nil); err != nil {
			return fmt.Errorf("hook %s: %w", h.ID, err)
		}
		if i == 0 && action == service.HookRollback {
			break // of the others none waits any more
		}
	}
	changed, err := describe(ctx, inv, cluster, []string{name})
	if err != nil {
		return err
	}
	return finish(ctx, inv, cluster, changed[0], c.Bool("detach"))
}

// pause is how a rollout waits.
type pause struct {
	Stage string       `json:"lifecycleStage"`
	Hooks []pausedHook `json:"lifecycleHookDetails"`
}

type pausedHook struct {
	ID      string             `json:"hookId"`
	Status  service.HookStatus `json:"status"`
	Expires client.Timestamp   `json:"expiresAt"`
	Action  service.HookAction `json:"timeoutAction"`
}

// pauseOf is how the rollout with that ARN waits.
func pauseOf(ctx context.Context, inv *invocation.Invocation, rollout string) (pause, error) {
	var out struct {
		Rollouts []pause `json:"serviceDeployments"`
	}
	if err := call(ctx, inv, "DescribeServiceDeployments", map[string]any{"serviceDeploymentArns": []string{rollout}}, &out); err != nil || len(out.Rollouts) == 0 {
		return pause{}, err
	}
	return out.Rollouts[0], nil
}

// waiting are the hooks that wait for an answer.
func (p pause) waiting() []pausedHook {
	return slices.DeleteFunc(slices.Clone(p.Hooks), func(h pausedHook) bool { return h.Status != service.HookAwaiting })
}

// sentence says what a service waits for; empty when it does not.
func (p pause) sentence(inv *invocation.Invocation, name string) string {
	hooks := p.waiting()
	if len(hooks) == 0 {
		return ""
	}
	first := slices.MinFunc(hooks, func(a, b pausedHook) int { return a.Expires.Compare(b.Expires.Time) })
	ends := "it is rolled back"
	if first.Action == service.HookContinue {
		ends = "it goes on"
	}
	return fmt.Sprintf("waits at %s for `pinion service continue %s`; without an answer %s at %s", p.Stage, name, ends, inv.Time(first.Expires.Time))
}
