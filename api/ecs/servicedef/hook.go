package servicedef

import (
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
)

const (
	hooksPath   = deploymentPath + ".lifecycleHooks"
	pauseTarget = "PAUSE"
)

// parseHooks reads the lifecycle hooks of deployments, over the previous ones, which stay where the input has none. An empty list removes them.
func parseHooks(in []types.DeploymentLifecycleHookInput, before []service.Hook) (hooks []service.Hook, err error) {
	if in == nil {
		return before, nil
	}
	if len(in) > service.MaxHooks {
		return nil, field.Errorf(hooksPath, "A service can have %d lifecycle hooks, not %d.", service.MaxHooks, len(in))
	}
	for i, given := range in {
		hook, err := parseHook(field.Index(hooksPath, i), given)
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, hook)
	}
	return hooks, nil
}

func parseHook(at string, in types.DeploymentLifecycleHookInput) (hook service.Hook, err error) {
	target := field.Join(at, "targetType")
	if err := field.OneOf(target, in.TargetType, types.HookTargets...); err != nil {
		return hook, err
	}
	if in.TargetType != pauseTarget {
		return hook, field.Errorf(target, "A hook of the targetType AWS_LAMBDA, which is that of a hook without one, is not supported: there is no Lambda here. Set it to PAUSE: the deployment then waits for ContinueServiceDeployment.")
	}
	if len(in.LifecycleStages) == 0 {
		return hook, field.Errorf(field.Join(at, "lifecycleStages"), "lifecycleStages must have 1 to %d stages.", len(service.PauseStages))
	}
	for i, name := range in.LifecycleStages {
		path, stage := field.Index(field.Join(at, "lifecycleStages"), i), service.Stage(name)
		switch err := field.Choice(path, "A stage of lifecycleStages", name, types.HookStages...); {
		case err != nil:
			return hook, err
		case slices.Contains(hook.Stages, stage):
			return hook, field.Errorf(path, "The stage %s is there twice: a hook pauses a deployment once at it.", name)
		}
		hook.Stages = append(hook.Stages, stage)
	}
	hook.Timeout, err = parseHookTimeout(field.Join(at, "timeoutConfiguration"), in.TimeoutConfiguration)
	return hook, err
}

func parseHookTimeout(at string, in *types.DeploymentLifecycleHookTimeoutConfigurationInput) (*service.HookTimeout, error) {
	if in == nil || in.TimeoutInMinutes == nil && in.Action == "" {
		return nil, nil
	}
	timeout := &service.HookTimeout{Action: service.HookAction(in.Action)}
	if in.TimeoutInMinutes != nil {
		if timeout.Minutes = *in.TimeoutInMinutes; timeout.Minutes < 1 || timeout.Minutes > service.MaxHookMinutes {
			return nil, field.Errorf(field.Join(at, "timeoutInMinutes"), "timeoutInMinutes must be between 1 and %d, not %d.", service.MaxHookMinutes, timeout.Minutes)
		}
	}
	return timeout, field.OneOf(field.Join(at, "action"), in.Action, types.HookActions...)
}

// checkHooks refuses hooks at stages that the deployments do not have: they would wait for nobody.
func checkHooks(c *service.DeploymentConfiguration, of service.Strategy) error {
	if len(c.Hooks) > 0 && of == service.Daemon {
		return field.Errorf(hooksPath, "A service of the daemon scheduling strategy has no lifecycle hooks: its tasks are replaced host by host, and no stage is that of all. Remove them.")
	}
	stages := service.PauseStages
	if !c.Shifts() {
		stages = service.RollingPauseStages
	}
	for i, hook := range c.Hooks {
		for k, stage := range hook.Stages {
			if !slices.Contains(stages, stage) {
				return field.Errorf(field.Index(field.Join(field.Index(hooksPath, i), "lifecycleStages"), k), "A deployment of the strategy %s cannot be paused at %s. It can at %s.", c.StrategyName(), stage, names(stages))
			}
		}
	}
	return nil
}

func names(stages []service.Stage) string {
	var all []string
	for _, stage := range stages {
		all = append(all, string(stage))
	}
	return strings.Join(all, ", ")
}
