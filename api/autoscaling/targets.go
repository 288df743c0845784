package autoscaling

import (
	"context"

	"pinion/api/wire"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

type suspendedState struct {
	In        *bool `json:"DynamicScalingInSuspended"`
	Out       *bool `json:"DynamicScalingOutSuspended"`
	Scheduled *bool `json:"ScheduledScalingSuspended"`
}

type registerInput struct {
	resource
	MinCapacity    *int              `json:"MinCapacity"`
	MaxCapacity    *int              `json:"MaxCapacity"`
	RoleARN        string            `json:"RoleARN"`
	SuspendedState suspendedState    `json:"SuspendedState"`
	Tags           map[string]string `json:"Tags"`
}

type registerOutput struct {
	ScalableTargetARN string `json:"ScalableTargetARN"`
}

// maxRole bounds the ARN of a role, which is kept and has no effect: AWS's bound.
const maxRole = 1600

// registerScalableTarget makes a service a scalable target, or changes what is given of one.
func (r *Request) registerScalableTarget(ctx context.Context, in *registerInput) (*registerOutput, error) {
	for _, n := range []*int{in.MinCapacity, in.MaxCapacity} {
		if n != nil && (*n < 0 || *n > service.MaxDesired) {
			return nil, errInvalid("a capacity must be 0 to %d, not %d", service.MaxDesired, *n)
		}
	}
	if len(in.RoleARN) > maxRole {
		return nil, errInvalid("RoleARN can have at most %d characters", maxRole)
	}
	tags, err := tagList(in.Tags)
	if err != nil {
		return nil, err
	}
	target, err := r.change(ctx, &in.resource, scaling.Change{Register: &scaling.Registration{
		Min: in.MinCapacity, Max: in.MaxCapacity, In: in.SuspendedState.In, Out: in.SuspendedState.Out, Scheduled: in.SuspendedState.Scheduled, Role: in.RoleARN, Tags: tags,
	}})
	if err != nil {
		return nil, err
	}
	return &registerOutput{r.targetARN(target)}, nil
}

func (r *Request) deregisterScalableTarget(ctx context.Context, in *resource) (*emptyOutput, error) {
	_, err := r.change(ctx, in, scaling.Change{Deregister: true})
	return &emptyOutput{}, err
}

type describeTargetsInput struct {
	paging
	ServiceNamespace  string   `json:"ServiceNamespace"`
	ResourceIDs       []string `json:"ResourceIds"`
	ScalableDimension string   `json:"ScalableDimension"`
}

// named is what every description of a part of a target begins with.
type named struct {
	ServiceNamespace  string `json:"ServiceNamespace"`
	ResourceID        string `json:"ResourceId"`
	ScalableDimension string `json:"ScalableDimension"`
}

type scalableTarget struct {
	named
	MinCapacity       int             `json:"MinCapacity"`
	MaxCapacity       int             `json:"MaxCapacity"`
	RoleARN           string          `json:"RoleARN"`
	CreationTime      wire.Time       `json:"CreationTime"`
	SuspendedState    map[string]bool `json:"SuspendedState"`
	ScalableTargetARN string          `json:"ScalableTargetARN"`
}

type describeTargetsOutput struct {
	ScalableTargets []scalableTarget `json:"ScalableTargets"`
	NextToken       string           `json:"NextToken,omitempty"`
}

// serviceRole is what AWS fills in.
const serviceRole = "arn:aws:iam::" + spec.AccountID + ":role/aws-service-role/ecs.application-autoscaling.amazonaws.com/AWSServiceRoleForApplicationAutoScaling_ECSService"

func (r *Request) describeScalableTargets(_ context.Context, in *describeTargetsInput) (*describeTargetsOutput, error) {
	targets, err := r.targets(in.ServiceNamespace, in.ScalableDimension, in.ResourceIDs)
	if err != nil {
		return nil, err
	}
	page, next, err := in.cut(len(targets), func(i int) string { return nameOf(targets[i]).ResourceID })
	if err != nil {
		return nil, err
	}
	out := &describeTargetsOutput{ScalableTargets: []scalableTarget{}, NextToken: next}
	for _, t := range targets[page.from:page.to] {
		role := t.Role
		if role == "" {
			role = serviceRole
		}
		out.ScalableTargets = append(out.ScalableTargets, scalableTarget{
			named: nameOf(t), MinCapacity: t.Min, MaxCapacity: t.Max, RoleARN: role, CreationTime: wire.NewTime(t.CreatedAt), ScalableTargetARN: r.targetARN(t),
			SuspendedState: map[string]bool{"DynamicScalingInSuspended": t.Suspended.In, "DynamicScalingOutSuspended": t.Suspended.Out, "ScheduledScalingSuspended": t.Suspended.Scheduled},
		})
	}
	return out, nil
}

func nameOf(t *scaling.Target) named {
	return named{namespace, resourceID(t.Cluster, t.Service), dimension}
}

// targetARN has the id of the service in it, so that it needs no index.
func (r *Request) targetARN(t *scaling.Target) string {
	return "arn:aws:application-autoscaling:" + r.Principal.Region + ":" + spec.AccountID + ":scalable-target/" + targetIDPrefix + t.ServiceID
}

// targetIDPrefix makes the ids of targets as long as AWS's.
const targetIDPrefix = "0ec5"
