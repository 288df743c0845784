package ecs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// maxInstances is ECS's limit for one StartTask.
const maxInstances = 10

// launchInput are the members that RunTask and StartTask share.
type launchInput struct {
	Cluster              string           `json:"cluster"`
	Definition           string           `json:"taskDefinition"`
	Group                string           `json:"group"`
	StartedBy            string           `json:"startedBy"`
	Overrides            *overrideInput   `json:"overrides"`
	Tags                 []spec.Tag       `json:"tags"`
	PropagateTags        string           `json:"propagateTags"`
	NetworkConfiguration any              `json:"networkConfiguration"`
	EnableManagedTags    bool             `json:"enableECSManagedTags"`
	ReferenceID          string           `json:"referenceId"` // without effect, as in ECS, which shows it nowhere
	EnableExecute        wire.Unsupported `json:"enableExecuteCommand" why:"running a command inside a task is not built yet"`
	VolumeConfigurations wire.Unsupported `json:"volumeConfigurations" why:"there is no EBS here; volumes are directories of the host, or scratch space of the task"`
}

type runInput struct {
	launchInput
	Count                *int                       `json:"count"`
	LaunchType           string                     `json:"launchType"`
	PlatformVersion      string                     `json:"platformVersion"` // without effect: it is Fargate's
	ClientToken          string                     `json:"clientToken"`
	PlacementConstraints []spec.PlacementConstraint `json:"placementConstraints"`
	PlacementStrategy    []spec.PlacementStrategy   `json:"placementStrategy"`
	CapacityProviders    []strategyItem             `json:"capacityProviderStrategy"`
	Array                string                     `json:"array,omitempty"` // Pinion's own, in place of count: "0-99"
}

type launchOutput struct {
	Tasks    []task    `json:"tasks"`
	Failures []failure `json:"failures"`
}

func (c *Request) runTask(ctx context.Context, in *runInput) (*launchOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	hash := in.hash(k.Name)
	if in.ClientToken != "" {
		// A retry is answered with the first result, whatever became of the definition since.
		first, err := c.View.ClientTokenResult(k.Name, in.ClientToken, hash)
		if err != nil || first != nil {
			return c.runTaskOutput(k.Name, first, err)
		}
	}
	request, err := c.newRunRequest(k, &in.launchInput)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	definition := c.View.Definition(request.Definition)
	if err := in.addPlacement(&request, definition); err != nil {
		return nil, err
	}
	if request.LaunchType, err = resolveLaunchType(definition, in.LaunchType); err != nil {
		return nil, err
	}
	if err := c.resolveQueue(k, in, &request); err != nil {
		return nil, err
	}
	request.Token, request.TokenHash = in.ClientToken, hash
	result, err := c.Store.Run(ctx, request)
	return c.runTaskOutput(k.Name, &result, err)
}

// resolveQueue says how many tasks there are to be, and where they wait.
func (c *Request) resolveQueue(k *spec.Cluster, in *runInput, request *spec.RunRequest) (err error) {
	if request.Array, request.ArrayFrom, request.Count, err = in.taskTotal(c.MaxCount); err != nil {
		return err
	}
	if request.CapacityProvider, err = c.queueProvider(k, in); err != nil {
		return err
	}
	if request.CapacityProvider == "" {
		return checkUnqueued(request)
	}
	return c.checkTaskDependencies(request)
}

func (in *runInput) check() error {
	if err := in.checkLaunchType(); err != nil {
		return err
	}
	for _, letter := range in.ClientToken {
		if letter < 33 || letter > 126 {
			return wire.Errorf(wire.InvalidParameter, "clientToken must hold only printable ASCII without blanks.")
		}
	}
	if len(in.ClientToken) > 64 {
		return wire.Errorf(wire.InvalidParameter, "clientToken must be at most 64 characters long, not %d.", len(in.ClientToken))
	}
	return nil
}

// hash tells a retry from another request under the same token. It covers every member but the token, whatever the
// order in which the client wrote them, and takes the cluster by its name.
func (in *runInput) hash(cluster string) string {
	parameters := *in
	parameters.Cluster, parameters.ClientToken = cluster, ""
	text, err := json.Marshal(parameters)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

type startInput struct {
	launchInput
	Instances []string `json:"containerInstances"`
}

func (c *Request) startTask(ctx context.Context, in *startInput) (*launchOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	request, err := c.newRunRequest(k, &in.launchInput)
	if err != nil {
		return nil, err
	}
	if len(in.Instances) == 0 {
		return nil, wire.Errorf(wire.Client, "Container Instances cannot be empty.")
	}
	if len(in.Instances) > maxInstances {
		return nil, wire.Errorf(wire.InvalidParameter, "containerInstances can have at most %d items, not %d.", maxInstances, len(in.Instances))
	}
	for _, given := range in.Instances {
		id, err := parseInCluster(k.Name, "container-instance", given)
		if err != nil {
			return nil, err
		}
		request.Hosts = append(request.Hosts, id)
	}
	if request.LaunchType, err = resolveLaunchType(c.View.Definition(request.Definition), ""); err != nil {
		return nil, err
	}
	if err := checkUnqueued(&request); err != nil {
		return nil, err
	}
	result, err := c.Store.Run(ctx, request)
	return c.runTaskOutput(k.Name, &result, err)
}

// newRunRequest checks what RunTask and StartTask share and makes the request that the cluster places.
func (c *Request) newRunRequest(k *spec.Cluster, in *launchInput) (spec.RunRequest, error) {
	definition, err := c.activeDefinition(in.Definition)
	if err != nil {
		return spec.RunRequest{}, err
	}
	if err := in.check(); err != nil {
		return spec.RunRequest{}, err
	}
	overrides, err := in.Overrides.normalise(definition)
	if err != nil {
		return spec.RunRequest{}, err
	}
	request := spec.RunRequest{
		Cluster: k.Name, Definition: definition.Name(), Group: cmp.Or(in.Group, "family:"+definition.Family),
		StartedBy: in.StartedBy, Overrides: overrides, Tags: in.Tags,
	}
	if request.Tags, err = in.taskTags(k, definition); err != nil {
		return spec.RunRequest{}, err
	}
	if err := checkSchedulingTags(request.Tags); err != nil {
		return spec.RunRequest{}, err
	}
	return request, nil
}

// activeDefinition finds the definition to run: an ACTIVE one.
func (c *Request) activeDefinition(given string) (*spec.TaskDefinition, error) {
	name, err := definitionName(given)
	if err != nil {
		return nil, err
	}
	definition := c.View.Definition(name)
	if definition == nil {
		return nil, wire.Errorf(wire.Client, "TaskDefinition not found.")
	}
	if definition.Status != spec.DefinitionActive {
		return nil, wire.Errorf(wire.InvalidParameter, "TaskDefinition is inactive")
	}
	return definition, nil
}

func (in *launchInput) check() error {
	switch {
	case in.NetworkConfiguration != nil:
		return wire.Errorf(wire.InvalidParameter, "Network Configuration is not valid for the given networkMode of this task definition. Remove networkConfiguration: Pinion has no awsvpc yet.")
	case len(in.StartedBy) > 128:
		return wire.Errorf(wire.InvalidParameter, "startedBy must be at most 128 characters long, not %d.", len(in.StartedBy))
	case len(in.ReferenceID) > 1024:
		return wire.Errorf(wire.InvalidParameter, "referenceId must be at most 1024 characters long, not %d.", len(in.ReferenceID))
	case len(in.Group) > 255:
		return wire.Errorf(wire.InvalidParameter, "group must be at most 255 characters long, not %d.", len(in.Group))
	case strings.HasPrefix(in.Group, "service:"):
		return wire.Errorf(wire.InvalidParameter, "Invalid namespace for group: service: is reserved for services.")
	case in.PropagateTags == "SERVICE":
		return wire.Errorf(wire.InvalidParameter, "propagateTags SERVICE is not valid here: the task belongs to no service.")
	}
	if err := inEnum("propagateTags", in.PropagateTags, "TASK_DEFINITION", "NONE"); err != nil {
		return err
	}
	return checkTags(in.Tags)
}

// runTaskOutput turns the outcome of a run into the answer.
func (c *Request) runTaskOutput(cluster string, result *spec.RunResult, err error) (*launchOutput, error) {
	if conflict, ok := errors.AsType[*spec.ClientTokenConflict](err); ok {
		refusal := wire.Errorf("ConflictException", "The clientToken was used before with other parameters. resourceIds are the tasks that it started.")
		for _, id := range conflict.TaskIDs {
			refusal.ResourceIDs = append(refusal.ResourceIDs, c.taskARN(cluster, id))
		}
		return nil, refusal
	}
	if errors.Is(err, spec.ErrNoHosts) {
		return nil, wire.Errorf(wire.InvalidParameter, "No Container Instances were found in your cluster.")
	}
	if err != nil {
		return nil, err
	}
	out := &launchOutput{Tasks: []task{}, Failures: []failure{}}
	for _, t := range result.Tasks {
		out.Tasks = append(out.Tasks, c.renderTask(t, true))
	}
	for _, f := range result.Failures {
		refused := failure{Reason: f.Reason, Detail: f.Detail}
		if f.HostID != "" {
			refused.ARN = c.instanceARN(cluster, f.HostID)
		}
		out.Failures = append(out.Failures, refused)
	}
	return out, nil
}
