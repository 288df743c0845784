package ecs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

type tagResourceInput struct {
	ARN  string     `json:"resourceArn"`
	Tags []spec.Tag `json:"tags"`
}

type emptyOutput struct{}

// tagResource puts tags on a cluster, a task definition, a task, a container instance or a capacity provider, each in place
// of the one with its key.
func (c *Request) tagResource(ctx context.Context, in *tagResourceInput) (*emptyOutput, error) {
	kind, id, err := c.parseTaggable(in.ARN)
	if err != nil {
		return nil, err
	}
	if len(in.Tags) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "Tags can not be empty.")
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	if kind == spec.ResourceTask || kind == spec.ResourceDefinition {
		if err := checkSchedulingTags(in.Tags); err != nil {
			return nil, err
		}
	}
	return c.setTags(ctx, raftfsm.SetTags{Kind: kind, ID: id, Put: in.Tags})
}

type untagResourceInput struct {
	ARN  string   `json:"resourceArn"`
	Keys []string `json:"tagKeys"`
}

func (c *Request) untagResource(ctx context.Context, in *untagResourceInput) (*emptyOutput, error) {
	kind, id, err := c.parseTaggable(in.ARN)
	if err != nil {
		return nil, err
	}
	if len(in.Keys) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "TagKeys can not be empty.")
	}
	for _, key := range in.Keys {
		if err := checkTagKey(key); err != nil {
			return nil, err
		}
	}
	return c.setTags(ctx, raftfsm.SetTags{Kind: kind, ID: id, Remove: in.Keys})
}

func (c *Request) setTags(ctx context.Context, change raftfsm.SetTags) (*emptyOutput, error) {
	what := kindName(change.Kind)
	switch _, err := c.Store.Propose(ctx, change); {
	case errors.Is(err, spec.ErrNotFound):
		return nil, errResourceNotFound(what)
	case errors.Is(err, spec.ErrInactive) && change.Kind == spec.ResourceTask:
		return nil, wire.Errorf(wire.InvalidParameter, "The specified task is stopped. Specify a running task and try again.")
	case errors.Is(err, spec.ErrInactive):
		return nil, wire.Errorf(wire.InvalidParameter, "The specified %s is inactive. Specify an active %s and try again.", what, what)
	case errors.Is(err, spec.ErrInUse):
		return nil, errProviderBuiltIn
	case errors.Is(err, spec.ErrTooManyTags):
		return nil, wire.Errorf("LimitExceededException", "A %s can have %d tags: remove some first.", what, spec.MaxTags)
	case err != nil:
		return nil, err
	}
	return &emptyOutput{}, nil
}

type listTagsInput struct {
	ARN string `json:"resourceArn"`
}

type listTagsOutput struct {
	Tags []spec.Tag `json:"tags"`
}

// listTagsForResource has no ResourceNotFoundException in its model.
func (c *Request) listTagsForResource(_ context.Context, in *listTagsInput) (*listTagsOutput, error) {
	kind, id, err := c.parseTaggable(in.ARN)
	if err == nil {
		tags, err := c.View.TagsOf(kind, id)
		if err == nil {
			return &listTagsOutput{nonNil(tags)}, nil
		}
		return nil, wire.Errorf(wire.InvalidParameter, "The specified %s was not found.", kindName(kind))
	}
	if refusal, ok := errors.AsType[*wire.Error](err); ok && refusal.Type == resourceNotFound {
		return nil, wire.Errorf(wire.InvalidParameter, "%s", refusal.Message)
	}
	return nil, err
}

const resourceNotFound = "ResourceNotFoundException"

func errResourceNotFound(what string) error {
	return wire.Errorf(resourceNotFound, "The specified %s was not found.", what)
}

func kindName(kind spec.ResourceKind) string { return strings.ReplaceAll(string(kind), "-", " ") }

// untaggable are ECS's resources that have tags there and do not exist here.
var untaggable = []string{"service", "task-set", "service-deployment", "service-revision", "daemon"}

// parseTaggable reads the ARN of what has tags, in the long form or the old one. It has to belong to the cluster that the ARN
// names.
func (c *Request) parseTaggable(arn string) (kind spec.ResourceKind, id string, err error) {
	if !strings.HasPrefix(arn, "arn:") {
		return "", "", wire.Errorf(wire.InvalidParameter, "resourceArn must be the ARN of a resource, not %q", arn)
	}
	parts := strings.SplitN(arn, ":", 6)
	name, _, _ := strings.Cut(parts[len(parts)-1], "/")
	kinds := []spec.ResourceKind{spec.ResourceCluster, spec.ResourceDefinition, spec.ResourceTask, spec.ResourceHost, spec.ResourceCapacityProvider}
	if slices.Contains(untaggable, name) {
		return "", "", errResourceNotFound(kindName(spec.ResourceKind(name)))
	}
	if kind = spec.ResourceKind(name); !slices.Contains(kinds, kind) {
		return "", "", wire.Errorf(wire.InvalidParameter, "resourceArn %s is not the ARN of a cluster, a task definition, a task, a container instance or a capacity provider.", arn)
	}
	r, err := parseResource(name, arn)
	if err != nil {
		return "", "", err
	}
	return kind, r.name, c.checkARNCluster(kind, r)
}

// checkARNCluster refuses a resource of another cluster than its ARN says, and a cluster that is not known.
func (c *Request) checkARNCluster(kind spec.ResourceKind, r resource) error {
	cluster := r.cluster
	switch task, host := c.View.Task(r.name), c.View.Host(r.name); kind {
	case spec.ResourceCluster:
		cluster = r.name
	case spec.ResourceTask:
		if task != nil && cluster != "" && task.Cluster != cluster {
			return errResourceNotFound(kindName(kind))
		}
	case spec.ResourceHost:
		if host != nil && cluster != "" && host.Cluster != cluster {
			return errResourceNotFound(kindName(kind))
		}
	}
	if cluster != "" && c.View.Cluster(cluster) == nil {
		return errNoCluster
	}
	return nil
}
