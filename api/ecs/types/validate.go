package types

import "pinion/api/ecs/field"

// The methods below hold the rules for inputs that need nothing but the input. ECS looks at a request in this order: a value that no
// request can have is reported before a cluster or a task that is not there.

// Validate checks what can be checked without the state.
func (in *DescribeClustersInput) Validate() error {
	return field.AllOf("include", in.Include, ClusterFields...)
}

// Validate checks what can be checked without the state.
func (in *DescribeTaskDefinitionInput) Validate() error {
	return field.AllOf("include", in.Include, TaskDefinitionFields...)
}

// Validate checks what can be checked without the state.
func (in *DescribeTasksInput) Validate() error {
	return field.AllOf("include", in.Include, TaskFields...)
}

// Validate checks what can be checked without the state.
func (in *ListTasksInput) Validate() error {
	if err := field.OneOf("desiredStatus", in.DesiredStatus, DesiredStatuses...); err != nil {
		return err
	}
	return field.OneOf("launchType", in.LaunchType, LaunchTypes...)
}

// Validate checks what can be checked without the state.
func (in *RunTaskInput) Validate() error { return checkRun(in.LaunchType, in.PropagateTags) }

// Validate checks what can be checked without the state.
func (in *StartTaskInput) Validate() error { return checkRun("", in.PropagateTags) }

func checkRun(launchType, propagateTags string) error {
	if err := field.OneOf("launchType", launchType, LaunchTypes...); err != nil {
		return err
	}
	if propagateTags == "SERVICE" {
		return field.Errorf("propagateTags", "propagateTags SERVICE is not valid here: the task belongs to no service.")
	}
	return field.OneOf("propagateTags", propagateTags, "TASK_DEFINITION", "NONE")
}

// Validate checks what can be checked without the state.
func (in *DescribeContainerInstancesInput) Validate() error {
	return field.AllOf("include", in.Include, ContainerInstanceFields...)
}

// Validate checks what can be checked without the state.
func (in *ListContainerInstancesInput) Validate() error {
	return field.OneOf("status", in.Status, ContainerInstanceStatuses...)
}

// Validate checks what can be checked without the state.
func (in *UpdateContainerInstancesStateInput) Validate() error {
	if in.Status != "ACTIVE" && in.Status != "DRAINING" {
		return field.Errorf("status", "Container instance status should be one of [ACTIVE,DRAINING]")
	}
	return nil
}

// Validate checks what can be checked without the state.
func (in *PutAttributesInput) Validate() error { return checkTargetTypes(in.Attributes) }

// Validate checks what can be checked without the state.
func (in *DeleteAttributesInput) Validate() error { return checkTargetTypes(in.Attributes) }

func checkTargetTypes(attributes []TargetedAttribute) error {
	for _, a := range attributes {
		if err := field.OneOf("targetType", a.TargetType, TargetTypes...); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks what can be checked without the state.
func (in *ListAttributesInput) Validate() error {
	return field.AllOf("targetType", []string{in.TargetType}, TargetTypes...)
}

// Validate checks what can be checked without the state.
func (in *DescribeCapacityProvidersInput) Validate() error {
	return field.AllOf("include", in.Include, CapacityProviderFields...)
}

// Validate checks what can be checked without the state.
func (in *ListServicesInput) Validate() error {
	if err := field.OneOf("launchType", in.LaunchType, LaunchTypes...); err != nil {
		return err
	}
	if err := field.OneOf("schedulingStrategy", in.SchedulingStrategy, SchedulingStrategies...); err != nil {
		return err
	}
	return field.OneOf("resourceManagementType", in.ResourceManagementType, ResourceManagementTypes...)
}

// Validate checks what can be checked without the state.
func (in *DescribeServicesInput) Validate() error {
	return field.AllOf("include", in.Include, ServiceFields...)
}

// Validate checks what can be checked without the state.
func (in *CreateServiceInput) Validate() error {
	return field.OneOf("launchType", in.LaunchType, LaunchTypes...)
}

// Validate checks what can be checked without the state.
func (in *ListServiceDeploymentsInput) Validate() error {
	return field.AllOf("status", in.Status, ServiceDeploymentStatuses...)
}

// Validate checks what can be checked without the state. ECS has only one way to stop a deployment.
func (in *StopServiceDeploymentInput) Validate() error {
	if in.StopType == "ABORT" {
		return field.Errorf("stopType", "stopType ABORT is not supported: a deployment is stopped by ROLLBACK, or by updating the service.")
	}
	return field.OneOf("stopType", in.StopType, StopTypes...)
}

// Validate checks what can be checked without the state.
func (in *ContinueServiceDeploymentInput) Validate() error {
	return field.OneOf("action", in.Action, HookActions...)
}

// Validate checks what can be checked without the state.
func (in *CreateTaskSetInput) Validate() error {
	return field.OneOf("launchType", in.LaunchType, LaunchTypes...)
}

// Validate checks what can be checked without the state.
func (in *DescribeTaskSetsInput) Validate() error {
	return field.AllOf("include", in.Include, TaskSetFields...)
}
