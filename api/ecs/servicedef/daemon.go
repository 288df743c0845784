package servicedef

import (
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// CheckDaemonName checks the name of a daemon by ECS's rules.
func CheckDaemonName(name string) error {
	if !spec.ValidName(name) {
		return field.Errorf("daemonName", "daemonName must be 1 to 255 letters, digits, hyphens and underscores, not %q.", name)
	}
	return nil
}

// NewDaemonDeployment is how a daemon is deployed where nobody says it: as on ECS, with the circuit breaker that ECS's daemons always have.
func NewDaemonDeployment() service.DeploymentConfiguration {
	drain, bake := service.DefaultDrain, 0
	return service.DeploymentConfiguration{
		DrainPerMille: &drain, BakeMinutes: &bake, Breaker: &service.CircuitBreaker{Enable: true, Rollback: true},
	}
}

// ParseDaemonDeployment reads the deployment configuration of a daemon over the previous one, whose members stay where the input has none.
func ParseDaemonDeployment(in *types.DaemonDeploymentConfigurationInput, before service.DeploymentConfiguration) (service.DeploymentConfiguration, error) {
	after := before
	switch {
	case in == nil:
		return before, nil
	case in.Alarms != nil && in.Alarms.Enable:
		return before, field.Errorf(deploymentPath+".alarms", "deploymentConfiguration.alarms is not supported: no alarm ends a deployment here. Deployments of daemons have a circuit breaker; give the container a health check.")
	}
	if in.DrainPercent != nil {
		drain, err := parsePercent(deploymentPath+".drainPercent", *in.DrainPercent, 0)
		if err != nil {
			return before, err
		}
		after.DrainPerMille = &drain
	}
	if in.BakeTimeInMinutes != nil {
		if err := checkMinutes(deploymentPath+".bakeTimeInMinutes", *in.BakeTimeInMinutes); err != nil {
			return before, err
		}
		after.BakeMinutes = in.BakeTimeInMinutes
	}
	return after, nil
}

// ParseDaemonTags reads where the tasks of a daemon get tags from, over what was before.
func ParseDaemonTags(propagate string, managed *bool, before service.Settings) (service.Settings, error) {
	if err := field.OneOf("propagateTags", propagate, types.DaemonTagSources...); err != nil {
		return before, err
	}
	after := before
	switch propagate {
	case "DAEMON":
		after.PropagateTags = "SERVICE" // a daemon is recorded as a service
	case "NONE":
		after.PropagateTags = NoTags
	}
	if managed != nil {
		after.ManagedTags = *managed
	}
	return after, nil
}
