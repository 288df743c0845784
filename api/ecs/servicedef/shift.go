package servicedef

import (
	"math"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
)

// parseStrategy reads how the traffic moves from one revision to the next. Another strategy than before forgets the times and steps of that one.
func parseStrategy(in *types.DeploymentConfigurationInput, before service.DeploymentConfiguration, of service.Strategy) (after service.DeploymentConfiguration, err error) {
	path := deploymentPath + ".strategy"
	if err := field.OneOf(path, in.Strategy, types.DeploymentStrategies...); err != nil {
		return before, err
	}
	if after = before; in.Strategy != "" && in.Strategy != before.StrategyName() {
		after.Strategy, after.BakeMinutes, after.Steps = in.Strategy, nil, nil
	}
	if after.StrategyName() == service.Rolling {
		after.Strategy = ""
	}
	if after.Shifts() && of == service.Daemon {
		return before, field.Errorf(path, "The daemon scheduling strategy has the deployment strategy ROLLING alone: a host has one task of it.")
	}
	if in.BakeTimeInMinutes != nil {
		if !after.Shifts() && *in.BakeTimeInMinutes != 0 {
			return before, field.Errorf(deploymentPath+".bakeTimeInMinutes", "deploymentConfiguration.bakeTimeInMinutes belongs to the strategies BLUE_GREEN, LINEAR and CANARY: remove it.")
		}
		if err := checkMinutes(deploymentPath+".bakeTimeInMinutes", *in.BakeTimeInMinutes); err != nil {
			return before, err
		}
		if after.Shifts() {
			after.BakeMinutes = in.BakeTimeInMinutes
		}
	}
	if in.LinearConfiguration != nil {
		c, at := in.LinearConfiguration, deploymentPath+".linearConfiguration"
		err = parseSteps(&after, service.Linear, at, c.StepPercent, at+".stepPercent", 3, c.StepBakeTimeInMinutes, at+".stepBakeTimeInMinutes", service.DefaultLinear)
	}
	if in.CanaryConfiguration != nil && err == nil {
		c, at := in.CanaryConfiguration, deploymentPath+".canaryConfiguration"
		err = parseSteps(&after, service.Canary, at, c.CanaryPercent, at+".canaryPercent", 0.1, c.CanaryBakeTimeInMinutes, at+".canaryBakeTimeInMinutes", service.DefaultCanary)
	}
	return after, err
}

// parseSteps reads the steps of LINEAR or CANARY, over ECS's.
func parseSteps(to *service.DeploymentConfiguration, of, path string, percent *float64, percentPath string, least float64, minutes *int, minutesPath string, steps service.Steps) error {
	if to.StrategyName() != of {
		return field.Errorf(path, "%s belongs to the strategy %s, and the strategy is %s: remove it.", path, of, to.StrategyName())
	}
	if percent != nil {
		perMille, err := parsePercent(percentPath, *percent, least)
		if err != nil {
			return err
		}
		steps.PerMille = perMille
	}
	if minutes != nil {
		if err := checkMinutes(minutesPath, *minutes); err != nil {
			return err
		}
		steps.BakeMinutes = *minutes
	}
	to.Steps = &steps
	return nil
}

// parsePercent reads a percentage of one decimal as thousandths.
func parsePercent(path string, percent, least float64) (perMille int, err error) {
	if tenths := percent * 10; !(percent >= least && percent <= 100) || math.Abs(tenths-math.Round(tenths)) > 1e-6 {
		return 0, field.Errorf(path, "%s must be a multiple of 0.1 between %g and 100, not %g.", path, least, percent)
	}
	return int(math.Round(percent * 10)), nil
}

func checkMinutes(path string, minutes int) error {
	if minutes < 0 || minutes > maxBake {
		return field.Errorf(path, "%s must be between 0 and %d, not %d.", path, maxBake, minutes)
	}
	return nil
}

// parseAdvanced reads what moves the traffic of a load balancer, whose target group is known.
func parseAdvanced(at string, in *types.AdvancedConfigurationInput, group string) (service.Advanced, error) {
	if in == nil {
		return service.Advanced{}, nil
	}
	at = field.Join(at, "advancedConfiguration")
	alternate, is := groupID(in.AlternateTargetGroupARN)
	production, isRule := ruleID(in.ProductionListenerRule)
	test, isTest := ruleID(in.TestListenerRule)
	switch {
	case !is || alternate == group:
		return service.Advanced{}, field.Errorf(field.Join(at, "alternateTargetGroupArn"), "alternateTargetGroupArn must be the ARN of another target group than targetGroupArn, not %q.", in.AlternateTargetGroupARN)
	case !isRule:
		return service.Advanced{}, field.Errorf(field.Join(at, "productionListenerRule"), "productionListenerRule must be the ARN of a listener rule, or of a listener for its default one, not %q.", in.ProductionListenerRule)
	case in.TestListenerRule != "" && !isTest:
		return service.Advanced{}, field.Errorf(field.Join(at, "testListenerRule"), "testListenerRule must be the ARN of a listener rule, or of a listener for its default one, not %q.", in.TestListenerRule)
	case len(in.RoleARN) > maxRole:
		return service.Advanced{}, field.Errorf(field.Join(at, "roleArn"), "roleArn must be at most %d characters long, not %d.", maxRole, len(in.RoleARN))
	}
	return service.Advanced{Group: group, Alternate: alternate, AlternateARN: in.AlternateTargetGroupARN, Production: production, ProductionRule: in.ProductionListenerRule,
		Test: test, TestRule: in.TestListenerRule, RoleARN: in.RoleARN}, nil
}

// CheckShifting refuses load balancers whose traffic a strategy cannot move.
func CheckShifting(all []service.LoadBalancer, c *service.DeploymentConfiguration) error {
	for i, b := range all {
		if c.Shifts() && b.Advanced.Group == "" {
			return field.Errorf(field.Join(field.Index(loadBalancersPath, i), "advancedConfiguration"),
				"The strategy %s needs advancedConfiguration of each load balancer: alternateTargetGroupArn and productionListenerRule.", c.StrategyName())
		}
	}
	return nil
}
