package secretsmanager

import (
	"context"
	"errors"

	"pinion/api/ecs/call"
	"pinion/api/ecs/tags"
	"pinion/api/secrets"
	"pinion/raftfsm/spec"
)

type tagInput struct {
	SecretID string        `json:"SecretId"`
	Tags     []secrets.Tag `json:"Tags"`
}

type untagInput struct {
	SecretID string   `json:"SecretId"`
	TagKeys  []string `json:"TagKeys"`
}

func tagResource(ctx context.Context, r *secrets.Request, in *tagInput) (*emptyOutput, error) {
	put := secrets.FromTags(in.Tags)
	if err := call.WithType(invalid, tags.Check(put)); err != nil {
		return nil, err
	}
	return setTags(ctx, r, in.SecretID, put, nil)
}

func untagResource(ctx context.Context, r *secrets.Request, in *untagInput) (*emptyOutput, error) {
	if err := call.WithType(invalid, tags.CheckKeys(in.TagKeys)); err != nil {
		return nil, err
	}
	return setTags(ctx, r, in.SecretID, nil, in.TagKeys)
}

func setTags(ctx context.Context, r *secrets.Request, id string, put []spec.Tag, remove []string) (*emptyOutput, error) {
	found, err := find(r, id)
	if err != nil {
		return nil, err
	}
	if err := r.SetTags(ctx, found, put, remove); errors.Is(err, spec.ErrNotFound) { // it was deleted meanwhile
		return nil, errNone
	} else if err != nil {
		return nil, err
	}
	return &emptyOutput{}, nil
}
