package servicedef

import (
	"cmp"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
)

const (
	deploymentPath = "deploymentConfiguration"
	maxPercent     = 10_000
	maxBake        = 1440 // minutes, a day: ECS's
)

// ParseDeployment reads a deployment configuration over the previous one, whose members stay where the input has none.
func ParseDeployment(in *types.DeploymentConfigurationInput, before service.DeploymentConfiguration, strategy service.Strategy) (service.DeploymentConfiguration, error) {
	if in == nil {
		return before, nil
	}
	if in.Alarms != nil && in.Alarms.Enable {
		return before, field.Errorf(deploymentPath+".alarms", "deploymentConfiguration.alarms is not supported: an alarm scales services here, and ends no deployment. Use deploymentCircuitBreaker and a health check.")
	}
	after, err := parseStrategy(in, before, strategy)
	if err != nil {
		return before, err
	}
	if in.MinimumHealthyPercent != nil {
		after.MinimumHealthyPercent = in.MinimumHealthyPercent
	}
	if in.MaximumPercent != nil {
		after.MaximumPercent = in.MaximumPercent
	}
	if after.Hooks, err = parseHooks(in.LifecycleHooks, before.Hooks); err != nil {
		return before, err
	}
	if err := cmp.Or(checkPercents(&after, strategy), checkHooks(&after, strategy)); err != nil {
		return before, err
	}
	if in.DeploymentCircuitBreaker != nil {
		breaker, err := parseBreaker(in.DeploymentCircuitBreaker)
		if err != nil {
			return before, err
		}
		after.Breaker = breaker
	}
	return after, nil
}

// checkPercents: a deployment that may neither stop a task nor make one more gets nowhere.
func checkPercents(c *service.DeploymentConfiguration, strategy service.Strategy) error {
	healthy, most := c.Percents(strategy)
	switch {
	case healthy < 0 || healthy > 100:
		return field.Errorf(deploymentPath+".minimumHealthyPercent", "deploymentConfiguration.minimumHealthyPercent must be between 0 and 100, not %d.", healthy)
	case strategy == service.Daemon && most > 100:
		return field.Errorf(deploymentPath+".maximumPercent", "The daemon scheduling strategy does not support values over 100 for maximumPercent in the deployment configuration. Change the value and try again.")
	case most < 100 || most > maxPercent:
		return field.Errorf(deploymentPath+".maximumPercent", "deploymentConfiguration.maximumPercent must be between 100 and %d, not %d.", maxPercent, most)
	case healthy == 100 && most == 100:
		return field.Errorf(deploymentPath, "Both maximumPercent and minimumHealthyPercent cannot be 100 as this will block deployments.")
	}
	return nil
}

func parseBreaker(in *types.DeploymentCircuitBreakerInput) (*service.CircuitBreaker, error) {
	breaker := &service.CircuitBreaker{Enable: in.Enable, Rollback: in.Rollback, ResetOnHealth: in.ResetOnHealthyTask}
	if in.ThresholdConfiguration == nil {
		return breaker, nil
	}
	path := deploymentPath + ".deploymentCircuitBreaker.thresholdConfiguration"
	threshold := service.Threshold{Type: in.ThresholdConfiguration.Type}
	if in.ThresholdConfiguration.Value != nil {
		threshold.Value = *in.ThresholdConfiguration.Value
	}
	if err := field.Choice(path+".type", path+".type", threshold.Type, types.ThresholdTypes...); err != nil {
		return nil, err
	}
	most := 100
	if threshold.Type == service.ThresholdCount {
		most = service.MaxDesired
	}
	if threshold.Value < 1 || threshold.Value > most {
		return nil, field.Errorf(path+".value", "%s.value must be between 1 and %d for %s, not %d.", path, most, threshold.Type, threshold.Value)
	}
	breaker.Threshold = &threshold
	return breaker, nil
}
