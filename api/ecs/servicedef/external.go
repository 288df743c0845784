package servicedef

import (
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
)

const (
	controllerECS  = "ECS"
	controllerPath = "deploymentController.type"
	maxExternalID  = 256
)

// ParseController reads a deployment controller: empty for ECS, or service.External. It refuses the one that Pinion has not.
func ParseController(given *types.DeploymentControllerInput) (string, error) {
	if given == nil || given.Type == controllerECS {
		return "", nil
	}
	if given.Type == "" {
		return "", field.Errorf(controllerPath, "deploymentController must have a type.")
	}
	if err := field.OneOf(controllerPath, given.Type, types.DeploymentControllers...); err != nil {
		return "", err
	}
	if given.Type == service.External {
		return service.External, nil
	}
	return "", field.Errorf(controllerPath, "deploymentController %s is not supported: there is no AWS CodeDeploy here. With ECS, Pinion replaces the tasks of a service itself; with EXTERNAL, you do it with task sets.", given.Type)
}

// CheckController refuses another deployment controller than the service has.
func CheckController(given *types.DeploymentControllerInput, has string) error {
	if given == nil {
		return nil
	}
	if controller, err := ParseController(given); err != nil || controller == has {
		return err
	}
	return field.Errorf(controllerPath, "The deployment controller of a service cannot be changed to %s: create another service.", given.Type)
}

// refused is a member of an input that services with task sets do not have.
type refused struct {
	is   bool
	path string
	text string
}

func firstRefusal(all []refused) error {
	for _, r := range all {
		if r.is {
			return field.Errorf(r.path, "%s", r.text)
		}
	}
	return nil
}

// CheckExternal refuses what a new EXTERNAL service cannot have: what its task sets say themselves, and what belongs to rollouts.
func CheckExternal(in *types.CreateServiceInput) error {
	const ofTaskSets = " must be blank for the deployment controller EXTERNAL: CreateTaskSet says it of each task set."
	how := in.DeploymentConfiguration
	return firstRefusal([]refused{
		{in.TaskDefinition != "", "taskDefinition", "TaskDefinition must be blank"},
		{in.SchedulingStrategy == string(service.Daemon), "schedulingStrategy", "The daemon scheduling strategy does not support the deployment controller EXTERNAL. Use REPLICA."},
		{in.Role != "", "role", "You cannot specify an IAM role for services that require a service linked role."},
		{in.LaunchType != "", "launchType", "launchType" + ofTaskSets},
		{len(in.CapacityProviderStrategy) > 0, "capacityProviderStrategy", "capacityProviderStrategy" + ofTaskSets},
		{len(in.LoadBalancers) > 0, loadBalancersPath, "loadBalancers" + ofTaskSets},
		{in.PlatformVersion != "", "platformVersion", "platformVersion" + ofTaskSets},
		{in.NetworkConfiguration != nil && in.NetworkConfiguration.AwsvpcConfiguration != nil, "networkConfiguration", "networkConfiguration" + ofTaskSets},
		{in.ServiceConnectConfiguration != nil && in.ServiceConnectConfiguration.Enabled, connectPath, "serviceConnectConfiguration is not supported for the deployment controller EXTERNAL: task sets have load balancers."},
		{how != nil && how.Strategy != "" && how.Strategy != service.Rolling, deploymentPath + ".strategy", "The deployment strategies belong to the deployment controller ECS: remove deploymentConfiguration.strategy."},
		{how != nil && how.DeploymentCircuitBreaker != nil && how.DeploymentCircuitBreaker.Enable, deploymentPath + ".deploymentCircuitBreaker", "The deployment circuit breaker belongs to the deployment controller ECS: remove it."},
	})
}

// CheckExternalUpdate refuses what UpdateService does not change of an EXTERNAL service.
func CheckExternalUpdate(in *types.UpdateServiceInput) error {
	const (
		ofTaskSets = " cannot be updated on a service with the deployment controller EXTERNAL: create another task set."
		never      = " cannot be updated on a service with the deployment controller EXTERNAL."
	)
	return firstRefusal([]refused{
		{in.TaskDefinition != "", "taskDefinition", "taskDefinition" + ofTaskSets},
		{in.ForceNewDeployment, "forceNewDeployment", "forceNewDeployment" + ofTaskSets},
		{in.CapacityProviderStrategy != nil, "capacityProviderStrategy", "capacityProviderStrategy" + ofTaskSets},
		{in.LoadBalancers != nil, loadBalancersPath, "loadBalancers" + ofTaskSets},
		{in.PlatformVersion != "", "platformVersion", "platformVersion" + ofTaskSets},
		{in.NetworkConfiguration != nil, "networkConfiguration", "networkConfiguration" + ofTaskSets},
		{in.ServiceConnectConfiguration != nil, connectPath, "serviceConnectConfiguration" + never},
		{in.DeploymentConfiguration != nil, deploymentPath, deploymentPath + never},
		{in.AvailabilityZoneRebalancing != "", "availabilityZoneRebalancing", "availabilityZoneRebalancing" + never},
	})
}

// ParseScale reads the scale of a task set; absent it is 0.
func ParseScale(given *types.ScaleInput) (scaling.Number, error) {
	if given == nil {
		return scaling.NumberOf(0), nil
	}
	if err := field.OneOf("scale.unit", given.Unit, types.ScaleUnits...); err != nil {
		return "", err
	}
	if given.Value == nil {
		return scaling.NumberOf(0), nil
	}
	if value := *given.Value; value < 0 || value > 100 {
		return "", field.Errorf("scale.value", "scale.value must be between 0 and 100, not %g.", value)
	}
	return scaling.NumberOf(*given.Value), nil
}

// CheckTaskSetBalancers refuses what the load balancers of a task set cannot have: more than one, and traffic that ECS would move.
func CheckTaskSetBalancers(given []types.LoadBalancerInput) error {
	if len(given) > 1 {
		return field.Errorf(loadBalancersPath, "A task set can have one load balancer: multiple target groups are not supported for the deployment controller EXTERNAL.")
	}
	if len(given) == 1 && given[0].AdvancedConfiguration != nil {
		return field.Errorf(field.Join(field.Index(loadBalancersPath, 0), "advancedConfiguration"), "advancedConfiguration belongs to the deployment controller ECS: you move the traffic of task sets with the rules of the listener.")
	}
	return nil
}

// CheckExternalID bounds what is kept of an external id.
func CheckExternalID(id string) error {
	if len(id) > maxExternalID {
		return field.Errorf("externalId", "externalId must be at most %d characters long, not %d.", maxExternalID, len(id))
	}
	return nil
}
