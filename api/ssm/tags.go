package ssm

import (
	"context"
	"errors"

	"pinion/api/ecs/call"
	"pinion/api/ecs/tags"
	"pinion/api/secrets"
	"pinion/api/wire"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
)

// resource is what tags are of.
type resource struct {
	ResourceType string `json:"ResourceType"`
	ResourceID   string `json:"ResourceId"`
}

// find is the parameter that a resource is.
func (of *resource) find(r *secrets.Request) (*secret.Secret, error) {
	if of.ResourceType != "Parameter" {
		return nil, wire.Errorf(invalidKind, "ResourceType must be Parameter, the one kind of resource of Systems Manager that Pinion has, not %.100q.", of.ResourceType)
	}
	name, err := parseWhole(of.ResourceID)
	if err != nil {
		return nil, err
	}
	if found := r.Find(store, name); found != nil {
		return found, nil
	}
	return nil, of.errNone()
}

func (of *resource) errNone() error {
	return wire.Errorf(invalidResource, "The resource ID %.300q is not valid. Verify that you entered the correct ID and try again.", of.ResourceID)
}

type tagListOutput struct {
	TagList []secrets.Tag `json:"TagList"`
}

func listTagsForResource(_ context.Context, r *secrets.Request, in *resource) (*tagListOutput, error) {
	found, err := in.find(r)
	if err != nil {
		return nil, err
	}
	return &tagListOutput{secrets.ToTags(found.Tags)}, nil
}

type addTagsInput struct {
	resource
	Tags []secrets.Tag `json:"Tags"`
}

func addTagsToResource(ctx context.Context, r *secrets.Request, in *addTagsInput) (*emptyOutput, error) {
	put := secrets.FromTags(in.Tags)
	if err := call.WithType(invalid, tags.Check(put)); err != nil {
		return nil, err
	}
	return in.setTags(ctx, r, put, nil)
}

type removeTagsInput struct {
	resource
	TagKeys []string `json:"TagKeys"`
}

func removeTagsFromResource(ctx context.Context, r *secrets.Request, in *removeTagsInput) (*emptyOutput, error) {
	if err := call.WithType(invalid, tags.CheckKeys(in.TagKeys)); err != nil {
		return nil, err
	}
	return in.setTags(ctx, r, nil, in.TagKeys)
}

func (of *resource) setTags(ctx context.Context, r *secrets.Request, put []spec.Tag, remove []string) (*emptyOutput, error) {
	found, err := of.find(r)
	if err != nil {
		return nil, err
	}
	if err := r.SetTags(ctx, found, put, remove); errors.Is(err, spec.ErrNotFound) { // it was deleted meanwhile
		return nil, of.errNone()
	} else if err != nil {
		return nil, err
	}
	return &emptyOutput{}, nil
}
