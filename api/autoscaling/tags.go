package autoscaling

import (
	"context"
	"errors"
	"strings"

	"pinion/api/ecs/call"
	"pinion/api/ecs/tags"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/spec"
)

type arnInput struct {
	ResourceARN string `json:"ResourceARN"`
}

type tagsOutput struct {
	Tags map[string]string `json:"Tags"`
}

type tagInput struct {
	ResourceARN string            `json:"ResourceARN"`
	Tags        map[string]string `json:"Tags"`
}

type untagInput struct {
	ResourceARN string   `json:"ResourceARN"`
	TagKeys     []string `json:"TagKeys"`
}

func (r *Request) listTagsForResource(_ context.Context, in *arnInput) (*tagsOutput, error) {
	target, err := r.tagged(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	out := &tagsOutput{Tags: map[string]string{}}
	for _, tag := range target.Tags {
		out.Tags[tag.Key] = tag.Value
	}
	return out, nil
}

func (r *Request) tagResource(ctx context.Context, in *tagInput) (*emptyOutput, error) {
	put, err := tagList(in.Tags)
	if err != nil {
		return nil, err
	}
	return r.setTags(ctx, in.ResourceARN, put, nil)
}

func (r *Request) untagResource(ctx context.Context, in *untagInput) (*emptyOutput, error) {
	if err := call.WithType(invalid, tags.CheckKeys(in.TagKeys)); err != nil {
		return nil, err
	}
	return r.setTags(ctx, in.ResourceARN, nil, in.TagKeys)
}

func (r *Request) setTags(ctx context.Context, arn string, put []spec.Tag, remove []string) (*emptyOutput, error) {
	target, err := r.tagged(arn)
	if err != nil {
		return nil, err
	}
	if s, err := r.scalable(target.Cluster, target.Service); err != nil || s == nil {
		return nil, errors.Join(err, errNoTagged(arn))
	}
	_, err = r.Store.Propose(ctx, raftfsm.SetTags{Kind: spec.ResourceScalableTarget, ID: target.ServiceID, Put: put, Remove: remove})
	switch {
	case errors.Is(err, spec.ErrTooManyTags):
		return nil, wire.Errorf(tooManyTags, "%v", err)
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoTagged(arn)
	}
	return &emptyOutput{}, err
}

// tagged is the target with that ARN, if the caller may know of it.
func (r *Request) tagged(arn string) (*scaling.Target, error) {
	fields := strings.SplitN(arn, ":", 6)
	id, isTarget := "", false
	if len(fields) == 6 && fields[2] == Service && fields[4] == spec.AccountID {
		id, isTarget = strings.CutPrefix(fields[5], "scalable-target/"+targetIDPrefix)
	}
	if target := scaling.Find(r.View, id); isTarget && target != nil {
		if s := r.View.ServiceByID(id); s != nil && r.Principal.SeesService(s) {
			return target, nil
		}
	}
	return nil, errNoTagged(arn)
}

func errNoTagged(arn string) error {
	return wire.Errorf(resourceNotFound, "No scalable target found with ARN: %.300s", arn)
}

// tagList checks tags by ECS's rules, and sorts them.
func tagList(given map[string]string) ([]spec.Tag, error) {
	list := tags.List(given)
	return list, call.WithType(invalid, tags.Check(list))
}
