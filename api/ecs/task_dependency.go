package ecs

import (
	"slices"

	"pinion/api/auth"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/tags"
	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// checkTaskDependencies refuses a dependency on an unknown task or group: it could never be met, or would be met already. A task of a cluster
// or a team that the caller's key is not for is unknown to it: a task that waits is told how the other one ended.
func checkTaskDependencies(r *Request, request *spec.RunRequest) error {
	options, _ := spec.ParseSchedulingOptions(request.Tags)
	for _, after := range options.Dependencies {
		switch {
		case after.Group == "" && !knowsTask(r, after.Task):
			return field.Errorf("tags", "The tag %s names task %s, which is not known: there was none of that id within the last hour.", spec.TagAfter, after.Task)
		case after.Group != "" && after.Group == request.Group:
			return field.Errorf("tags", "The tag %s names group %s, which is the group of the tasks themselves.", spec.TagAfter, after.Group)
		case after.Group != "" && !hasGroup(r, request.Cluster, after.Group):
			return field.Errorf("tags", "The tag %s names group %s, of which cluster %s has no task.", spec.TagAfter, after.Group, request.Cluster)
		}
	}
	return nil
}

func knowsTask(r *Request, id string) bool {
	task := r.View.Task(id)
	return task != nil && r.KeyClusters.Covers(task.Cluster) && auth.SeesTask(r.Grant, task)
}

func hasGroup(r *Request, cluster, group string) bool {
	for t := range r.View.TasksAfter(cluster, "") {
		if t.Group == group && auth.SeesTask(r.Grant, t) {
			return true
		}
	}
	return false
}

// checkUnqueued refuses the options of queued tasks for tasks that are placed at once or not at all.
func checkUnqueued(request *spec.RunRequest) error {
	const how = "that takes a queue: give capacityProviderStrategy, such as [{capacityProvider: " + spec.BuiltinCapacityProvider + "}]"
	options, err := spec.ParseSchedulingOptions(request.Tags)
	switch {
	case err != nil:
		return field.Errorf("tags", "%v.", err)
	case len(options.Dependencies) > 0:
		return field.Errorf("tags", "The tag %s has tasks wait for others, and %s.", spec.TagAfter, how)
	case options.Hold:
		return field.Errorf("tags", "The tag %s holds tasks that wait, and %s.", spec.TagHold, how)
	case request.ArrayFrom != nil:
		return field.Errorf("array", "array is for tasks that may wait, and %s.", how)
	}
	return nil
}

// CheckTeam checks the name of a team, which must be a valid value of a tag.
func CheckTeam(name string) error {
	return call.WithType("InvalidParameterException", tags.CheckTeam(name))
}

// checkGPUOptions refuses an idle timeout for a task without GPUs, which would never end it, an action at one that it has not, and alternatives of GPUs
// for one that does not ask for whole GPUs in one container.
func checkGPUOptions(request spec.RunRequest, definition *spec.TaskDefinition) error {
	options, _ := spec.ParseSchedulingOptions(request.Tags)
	effective := spec.Effective(definition, request.Overrides)
	if len(options.GPUAlternatives) > 0 && effective.GPUContainer() < 0 {
		return field.Errorf("tags", "The tag %s is in place of a number of whole GPUs, for which just one container has to ask (resourceRequirements).", spec.TagGPUAlternatives)
	}
	if options.IdleTimeout == 0 {
		if options.IdleRequeue {
			return field.Errorf("tags", "The tag %s says what is done at an idle timeout, and this task has none: add %s, or remove it.", spec.TagIdleAction, spec.TagIdleTimeout)
		}
		return nil
	}
	demand := spec.DemandOf(effective)
	if demand.TotalGPUs() != 0 || demand.ShareMiB() > 0 || demand.WantsAllGPUs() {
		return nil
	}
	return field.Errorf("tags", "The tag %s stops a task whose GPUs do nothing, and this task asks for none: remove it, or use %s.", spec.TagIdleTimeout, spec.TagTimeLimit)
}

// checkAlternatives refuses alternatives of GPUs, which are whole ones, for a task whose constraints ask for MIG devices.
func checkAlternatives(request spec.RunRequest, d *spec.TaskDefinition) error {
	asksForMIG := func(c spec.PlacementConstraint) bool { return gpu.AsksForMIG(c.Expression) }
	options, _ := spec.ParseSchedulingOptions(request.Tags)
	if len(options.GPUAlternatives) == 0 || !slices.ContainsFunc(d.PlacementConstraints, asksForMIG) && !slices.ContainsFunc(request.Constraints, asksForMIG) {
		return nil
	}
	return field.Errorf("tags", "The tag %s is for whole GPUs, and a placement constraint asks for MIG devices (attribute:%s): remove one of them.", spec.TagGPUAlternatives, gpu.AttributeMIGProfile)
}

// checkIdleTimeoutOf refuses a new idle timeout of a task of a service, which would replace it at once, and of one that runs without GPUs.
func checkIdleTimeoutOf(task, changed *spec.Task) error {
	if !slices.Equal(changed.SchedulingOptions().GPUAlternatives, task.SchedulingOptions().GPUAlternatives) {
		return field.Errorf("tags", "The tag %s is given when the task is run, and stays: run another task.", spec.TagGPUAlternatives)
	}
	if timeout := changed.SchedulingOptions().IdleTimeout; timeout == 0 || timeout == task.SchedulingOptions().IdleTimeout {
		return nil
	}
	if task.Service != nil {
		return field.Errorf("tags", "The tag %s is not for tasks of a service, which would replace the task at once.", spec.TagIdleTimeout)
	}
	if task.HostID != "" && len(task.GPUs()) == 0 {
		return field.Errorf("tags", "The tag %s stops a task whose GPUs do nothing, and this task has none: use %s.", spec.TagIdleTimeout, spec.TagTimeLimit)
	}
	return nil
}
