package ecs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/capacity"
	"pinion/api/ecs/field"
	"pinion/api/ecs/tags"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// tagResource puts tags on a cluster, a task definition, a task, a container instance, a capacity provider, a service, a task set, a daemon or a daemon
// task definition, each in place of the one with its key.
func tagResource(ctx context.Context, r *Request, in *types.TagResourceInput) (*types.TagResourceOutput, error) {
	kind, id, err := parseTaggable(r, in.ResourceARN)
	if err != nil {
		return nil, err
	}
	if len(in.Tags) == 0 {
		return nil, field.Errorf("tags", "Tags can not be empty.")
	}
	if err := tags.Check(in.Tags); err != nil {
		return nil, err
	}
	if kind == spec.ResourceTask || kind == spec.ResourceDefinition {
		if err := tags.CheckScheduling(in.Tags); err != nil {
			return nil, err
		}
	}
	if err := checkTagged(r, kind, id, in.Tags, nil); err != nil {
		return nil, err
	}
	return &types.TagResourceOutput{}, setTags(ctx, r, raftfsm.SetTags{Kind: kind, ID: id, Put: in.Tags})
}

func untagResource(ctx context.Context, r *Request, in *types.UntagResourceInput) (*types.UntagResourceOutput, error) {
	kind, id, err := parseTaggable(r, in.ResourceARN)
	if err != nil {
		return nil, err
	}
	if len(in.TagKeys) == 0 {
		return nil, field.Errorf("tagKeys", "TagKeys can not be empty.")
	}
	if err := tags.CheckKeys(in.TagKeys); err != nil {
		return nil, err
	}
	if err := checkTagged(r, kind, id, nil, in.TagKeys); err != nil {
		return nil, err
	}
	return &types.UntagResourceOutput{}, setTags(ctx, r, raftfsm.SetTags{Kind: kind, ID: id, Remove: in.TagKeys})
}

// checkTagged refuses a change of tags after which a task, or the tasks of a service, would count for a team or have a priority that the
// caller's key is not for.
func checkTagged(r *Request, kind spec.ResourceKind, id string, put []spec.Tag, remove []string) error {
	if task := taggedTask(r, kind, id); task != nil {
		return checkTagsOf(r, task, put, remove)
	}
	if kind != spec.ResourceService {
		return nil
	}
	return checkServiceTags(r, r.View.ServiceByID(id), put, remove)
}

// taggedTask is the task whose tags change; nil: there is none, or they are another resource's.
func taggedTask(r *Request, kind spec.ResourceKind, id string) *spec.Task {
	if kind != spec.ResourceTask {
		return nil
	}
	return r.View.Task(id)
}

func setTags(ctx context.Context, r *Request, change raftfsm.SetTags) error {
	what := arn.KindName(string(change.Kind))
	switch _, err := r.Store.Propose(ctx, change); {
	case errors.Is(err, spec.ErrNotFound):
		return errResourceNotFound(what)
	case errors.Is(err, spec.ErrInactive) && change.Kind == spec.ResourceTask:
		return field.Errorf("resourceArn", "The specified task is stopped. Specify a running task and try again.")
	case errors.Is(err, spec.ErrInactive):
		return field.Errorf("resourceArn", "The specified %s is inactive. Specify an active %s and try again.", what, what)
	case errors.Is(err, spec.ErrInUse):
		return capacity.ErrBuiltIn
	case errors.Is(err, spec.ErrTooManyTags):
		return wire.Errorf("LimitExceededException", "A %s can have %d tags: remove some first.", what, spec.MaxTags)
	default:
		return err
	}
}

// listTagsForResource has no ResourceNotFoundException in its model.
func listTagsForResource(_ context.Context, r *Request, in *types.ListTagsForResourceInput) (*types.ListTagsForResourceOutput, error) {
	kind, id, err := parseTaggable(r, in.ResourceARN)
	if err == nil {
		found, err := r.View.TagsOf(kind, id)
		if task := taggedTask(r, kind, id); err == nil && (task == nil || auth.SeesTask(r.Grant, task)) {
			return &types.ListTagsForResourceOutput{Tags: call.NonNil(found)}, nil
		}
		return nil, field.Errorf("resourceArn", "The specified %s was not found.", arn.KindName(string(kind)))
	}
	if refusal, ok := errors.AsType[*wire.Error](err); ok && refusal.Type == resourceNotFound {
		return nil, field.Errorf("resourceArn", "%s", refusal.Message)
	}
	return nil, err
}

const resourceNotFound = "ResourceNotFoundException"

func errResourceNotFound(what string) error {
	return wire.Errorf(resourceNotFound, "The specified %s was not found.", what)
}

// taggable are the kinds of resources that have tags here.
var taggable = []spec.ResourceKind{spec.ResourceCluster, spec.ResourceDefinition, spec.ResourceTask, spec.ResourceHost, spec.ResourceCapacityProvider, spec.ResourceService, spec.ResourceTaskSet,
	spec.ResourceDaemon, spec.ResourceDaemonDefinition}

// parseTaggable reads the ARN of a resource with tags, in the long form or the old one. It has to belong to the cluster that
// the ARN names. ECS's other resources with tags do not exist here, so they are not found.
func parseTaggable(r *Request, given string) (kind spec.ResourceKind, id string, err error) {
	if !arn.Is(given) {
		return "", "", field.Errorf("resourceArn", "resourceArn must be the ARN of a resource, not %q", given)
	}
	parsed, err := arn.ParseAny(given)
	if err != nil && parsed.Kind != "" && !arn.Known(parsed.Kind) {
		return "", "", field.Errorf("resourceArn", "resourceArn %s is not the ARN of a cluster, a task definition, a task, a container instance, a capacity provider, a service, a task set, a daemon or a daemon task definition.", given)
	}
	if err != nil {
		return "", "", err
	}
	if kind = spec.ResourceKind(parsed.Kind); !slices.Contains(taggable, kind) {
		return "", "", errResourceNotFound(arn.KindName(parsed.Kind))
	}
	switch kind {
	case spec.ResourceService, spec.ResourceDaemon:
		return taggableService(r, parsed)
	case spec.ResourceDaemonDefinition:
		return spec.ResourceDefinition, parsed.Name, nil
	case spec.ResourceTaskSet:
		return taggableTaskSet(r, parsed, given)
	}
	return kind, parsed.Name, checkARNCluster(r, kind, parsed)
}

// taggableService finds the service whose tags a request is about; the state knows it by its id.
func taggableService(r *Request, parsed arn.Resource) (kind spec.ResourceKind, id string, err error) {
	cluster := cmp.Or(parsed.Cluster, spec.DefaultCluster)
	if r.View.Cluster(cluster) == nil {
		return "", "", call.ErrNoCluster
	}
	s := r.View.Service(cluster, parsed.Name)
	if s == nil || !seesService(r, s) {
		return "", "", errResourceNotFound(parsed.Kind)
	}
	return spec.ResourceService, s.ID, nil
}

// taggableTaskSet finds the task set whose tags a request is about.
func taggableTaskSet(r *Request, parsed arn.Resource, given string) (kind spec.ResourceKind, id string, err error) {
	if r.View.Cluster(parsed.Cluster) == nil {
		return "", "", call.ErrNoCluster
	}
	name, _, _ := strings.Cut(parsed.Name, "/")
	if s := r.View.Service(parsed.Cluster, name); s != nil && seesService(r, s) {
		if d := findTaskSet(s, given); d != nil {
			return spec.ResourceTaskSet, d.ID, nil
		}
	}
	return "", "", errResourceNotFound(arn.KindName(arn.TaskSet))
}

// checkARNCluster refuses a resource of another cluster than its ARN says, and a cluster that is not known.
func checkARNCluster(r *Request, kind spec.ResourceKind, parsed arn.Resource) error {
	if parsed.Cluster == "" {
		return nil
	}
	actual := parsed.Cluster
	switch kind {
	case spec.ResourceTask:
		if task := r.View.Task(parsed.Name); task != nil {
			actual = task.Cluster
		}
	case spec.ResourceHost:
		if host := r.View.Host(parsed.Name); host != nil {
			actual = host.Cluster
		}
	}
	if actual != parsed.Cluster {
		return errResourceNotFound(arn.KindName(string(kind)))
	}
	if r.View.Cluster(parsed.Cluster) == nil {
		return call.ErrNoCluster
	}
	return nil
}
