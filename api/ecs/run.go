package ecs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/capacity"
	"pinion/api/ecs/field"
	"pinion/api/ecs/placement"
	"pinion/api/ecs/tags"
	"pinion/api/ecs/taskdef"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

func runTask(ctx context.Context, r *Request, in *types.RunTaskInput) (*types.RunTaskOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	hash, token := runTaskHash(cluster.Name, in), ownClientToken(r, in.ClientToken)
	if in.ClientToken != "" {
		// A retry is answered with the first result, whatever became of the definition since.
		first, err := r.View.ClientTokenResult(cluster.Name, token, hash)
		if err != nil || first != nil {
			return runTaskOutput(r, cluster.Name, first, err)
		}
	}
	request, definition, err := newRunRequest(r, cluster, runInputOf(in))
	if err != nil {
		return nil, err
	}
	if err := checkRunTask(in); err != nil {
		return nil, err
	}
	if err := cmp.Or(placement.AddNetwork(&request, in.NetworkConfiguration, definition, r.View), addPlacement(&request, in, definition)); err != nil {
		return nil, err
	}
	if request.LaunchType, err = resolveLaunchType(definition, in.LaunchType); err != nil {
		return nil, err
	}
	if err := resolveQueue(r, cluster, in, &request); err != nil {
		return nil, err
	}
	request.ClientToken, request.RequestHash = token, hash
	result, err := r.Store.Run(ctx, request)
	return runTaskOutput(r, cluster.Name, &result, err)
}

// ownClientToken is a client token as the state has it: each holder of access keys has tokens of its own. Otherwise one key could get the tasks of another
// for a token that it guessed, or keep the other from running them.
func ownClientToken(r *Request, given string) string {
	if given == "" || r.Owner == "" {
		return given
	}
	return r.Owner + "/" + given
}

// resolveQueue fills in how many tasks there are to be, and the capacity provider that they wait in.
func resolveQueue(r *Request, cluster *spec.Cluster, in *types.RunTaskInput, request *spec.RunRequest) (err error) {
	if request.ArrayFrom, request.Count, err = taskTotal(in, r.MaxCount); err != nil {
		return err
	}
	if request.CapacityProvider, err = capacity.Queue(r, cluster, in); err != nil {
		return err
	}
	if request.CapacityProvider == "" {
		return checkUnqueued(request)
	}
	if options, _ := spec.ParseSchedulingOptions(request.Tags); options.Hold {
		request.Hold = holdOf(r, "")
	}
	return checkTaskDependencies(r, request)
}

func checkRunTask(in *types.RunTaskInput) error {
	if err := checkLaunchType(in.LaunchType, in.PlatformVersion); err != nil {
		return err
	}
	for _, letter := range in.ClientToken {
		if letter < 33 || letter > 126 {
			return field.Errorf("clientToken", "clientToken must hold only printable ASCII without blanks.")
		}
	}
	if len(in.ClientToken) > 64 {
		return field.Errorf("clientToken", "clientToken must be at most 64 characters long, not %d.", len(in.ClientToken))
	}
	return nil
}

// maxInstances is ECS's limit for one StartTask.
const maxInstances = 10

func startTask(ctx context.Context, r *Request, in *types.StartTaskInput) (*types.StartTaskOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	request, definition, err := newRunRequest(r, cluster, runInput(*in))
	if err != nil {
		return nil, err
	}
	if len(in.ContainerInstances) == 0 {
		return nil, wire.Errorf(wire.Client, "Container Instances cannot be empty.")
	}
	if len(in.ContainerInstances) > maxInstances {
		return nil, field.Errorf("containerInstances", "containerInstances can have at most %d items, not %d.", maxInstances, len(in.ContainerInstances))
	}
	for _, given := range in.ContainerInstances {
		id, err := call.ParseInCluster(cluster.Name, arn.ContainerInstance, given)
		if err != nil {
			return nil, err
		}
		request.Hosts = append(request.Hosts, id)
	}
	if err := placement.AddNetwork(&request, in.NetworkConfiguration, definition, r.View); err != nil {
		return nil, err
	}
	if request.LaunchType, err = resolveLaunchType(definition, ""); err != nil {
		return nil, err
	}
	if err := checkUnqueued(&request); err != nil {
		return nil, err
	}
	result, err := r.Store.Run(ctx, request)
	out, err := runTaskOutput(r, cluster.Name, &result, err)
	return (*types.StartTaskOutput)(out), err
}

// runInput has the members that RunTask and StartTask share. What differs is zero in a launch of RunTask.
type runInput types.StartTaskInput

func runInputOf(in *types.RunTaskInput) runInput {
	return runInput{
		TaskDefinition: in.TaskDefinition, Group: in.Group, StartedBy: in.StartedBy, Overrides: in.Overrides, Tags: in.Tags,
		PropagateTags: in.PropagateTags, NetworkConfiguration: in.NetworkConfiguration, EnableECSManagedTags: in.EnableECSManagedTags,
		ReferenceID: in.ReferenceID, EnableExecuteCommand: in.EnableExecuteCommand,
	}
}

// newRunRequest checks what RunTask and StartTask share and makes the request that the store places.
func newRunRequest(r *Request, cluster *spec.Cluster, in runInput) (spec.RunRequest, *spec.TaskDefinition, error) {
	definition, err := activeDefinition(r, in.TaskDefinition)
	if err != nil {
		return spec.RunRequest{}, nil, err
	}
	if err := in.check(); err != nil {
		return spec.RunRequest{}, nil, err
	}
	overrides, err := taskdef.ParseOverrides(in.Overrides, definition)
	if err != nil {
		return spec.RunRequest{}, nil, err
	}
	if overrides.TaskRoleID, err = call.PassRole(r, overrides.TaskRoleARN); err != nil {
		return spec.RunRequest{}, nil, err
	}
	if overrides.TaskRoleARN != "" && overrides.TaskRoleID == "" {
		call.WarnOfRole(r, overrides.TaskRoleARN)
	}
	request := spec.RunRequest{
		Cluster: cluster.Name, Key: r.Owner, Definition: definition.Name(), Group: cmp.Or(in.Group, "family:"+definition.Family),
		StartedBy: in.StartedBy, Overrides: overrides, ByAdmin: r.Role == accesskey.RoleAdmin, Exec: in.EnableExecuteCommand,
	}
	if request.Tags, err = in.taskTags(cluster, definition); err != nil {
		return spec.RunRequest{}, nil, err
	}
	if err := tags.CheckScheduling(request.Tags); err != nil {
		return spec.RunRequest{}, nil, err
	}
	if err := checkGPUOptions(request, definition); err != nil {
		return spec.RunRequest{}, nil, err
	}
	request.Tags, err = call.GrantedTags(r, request.Tags)
	return request, definition, err
}

// activeDefinition finds the definition to run: an ACTIVE one, with a role that the caller may give to a task.
func activeDefinition(r *Request, given string) (*spec.TaskDefinition, error) {
	name, err := definitionName(given)
	if err != nil {
		return nil, err
	}
	definition := r.View.Definition(name)
	if definition == nil {
		return nil, wire.Errorf(wire.Client, "TaskDefinition not found.")
	}
	if definition.Status != spec.DefinitionActive {
		return nil, field.Errorf("taskDefinition", "TaskDefinition is inactive")
	}
	return definition, call.CheckRun(r, definition)
}

// hasControls reports whether a text has characters that move a terminal's cursor or end a line of a log.
func hasControls(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }

func (in runInput) check() error {
	switch {
	case len(in.StartedBy) > 128:
		return field.Errorf("startedBy", "startedBy must be at most 128 characters long, not %d.", len(in.StartedBy))
	case len(in.ReferenceID) > 1024:
		return field.Errorf("referenceId", "referenceId must be at most 1024 characters long, not %d.", len(in.ReferenceID))
	case hasControls(in.ReferenceID):
		return field.Errorf("referenceId", "referenceId must not contain control characters, as %q does.", in.ReferenceID)
	case hasControls(in.StartedBy):
		return field.Errorf("startedBy", "startedBy must not contain control characters, as %q does.", in.StartedBy)
	case hasControls(in.Group):
		return field.Errorf("group", "group must not contain control characters, as %q does.", in.Group)
	case len(in.Group) > 255:
		return field.Errorf("group", "group must be at most 255 characters long, not %d.", len(in.Group))
	case strings.HasPrefix(in.Group, service.GroupPrefix):
		return field.Errorf("group", "Invalid namespace for group: service: is reserved for services.")
	case strings.HasPrefix(in.Group, service.DaemonGroupPrefix):
		return field.Errorf("group", "Invalid namespace for group: daemon: is reserved for daemons.")
	}
	return tags.Check(in.Tags)
}

// taskTags are the tags that the tasks of a call get: its own, those of the definition if it asks for them, ECS's own if it asks
// for that.
func (in runInput) taskTags(cluster *spec.Cluster, definition *spec.TaskDefinition) ([]spec.Tag, error) {
	all := in.Tags
	if in.PropagateTags == "TASK_DEFINITION" {
		all = tags.Merge(definition.Tags, in.Tags)
	}
	if len(all) > spec.MaxTags {
		return nil, field.Errorf("tags", "tags of the call and of the task definition come to %d, a task can have %d", len(all), spec.MaxTags)
	}
	if in.EnableECSManagedTags {
		all = append(all[:len(all):len(all)], spec.Tag{Key: tags.ManagedKey, Value: cluster.Name})
	}
	return all, nil
}

// addPlacement adds the placement constraints and strategies of the input to the request.
func addPlacement(request *spec.RunRequest, in *types.RunTaskInput, d *spec.TaskDefinition) (err error) {
	if err := taskdef.CheckConstraints(in.PlacementConstraints, len(d.PlacementConstraints)); err != nil {
		return err
	}
	request.Constraints = append(request.Constraints, in.PlacementConstraints...)
	if err := checkAlternatives(*request, d); err != nil {
		return err
	}
	request.Strategy, err = placement.ParseStrategies(in.PlacementStrategy)
	return err
}

// sayInfeasible tells that tasks wait for a host that is not there yet, in the answer and in each of its tasks: the queue waits for it, and
// a client of ECS would learn of it in no other way.
func sayInfeasible(r *Request, cluster string, lack spec.Failure, tasks []types.Task) {
	text := "no host of cluster " + cluster + " could ever run it: " + lack.Detail
	if host := r.View.Host(lack.HostID); host != nil {
		text = fmt.Sprintf("no host of cluster %s could ever run it; the nearest is %s: %s", cluster, host.Name, lack.Detail)
	}
	r.Warn("The task waits for another host: %s. With the tag %s=false RunTask fails instead.", text, spec.TagWaitForHost)
	for i := range tasks {
		tasks[i].Attributes = append(slices.Clone(tasks[i].Attributes), spec.Attribute{Name: "pinion.waits-for-host", Value: text})
	}
}

// runTaskOutput turns the outcome of a run into the output.
func runTaskOutput(r *Request, cluster string, result *spec.RunResult, err error) (*types.RunTaskOutput, error) {
	if conflict, ok := errors.AsType[*spec.ClientTokenConflict](err); ok {
		refusal := wire.Errorf("ConflictException", "The clientToken was used before with other parameters. resourceIds are the tasks that it started.")
		for _, id := range conflict.TaskIDs {
			refusal.ResourceIDs = append(refusal.ResourceIDs, r.Render().TaskARN(cluster, id))
		}
		return nil, refusal
	}
	if errors.Is(err, spec.ErrNoHosts) {
		return nil, field.Errorf("cluster", "No Container Instances were found in your cluster.")
	}
	if err != nil {
		return nil, err
	}
	out := &types.RunTaskOutput{Tasks: make([]types.Task, 0, len(result.Tasks)), Failures: []types.Failure{}}
	for _, t := range result.Tasks {
		out.Tasks = append(out.Tasks, r.Render().Task(t, true))
	}
	if result.Infeasible != nil {
		sayInfeasible(r, cluster, *result.Infeasible, out.Tasks)
	}
	for _, f := range result.Failures {
		failure := types.Failure{Reason: f.Reason, Detail: f.Detail}
		if f.HostID != "" {
			failure.ARN = r.Render().InstanceARN(cluster, f.HostID)
		}
		out.Failures = append(out.Failures, failure)
	}
	return out, nil
}
