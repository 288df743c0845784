package cloudwatch

import (
	"context"
	"errors"

	"pinion/api/ecs/call"
	"pinion/api/ecs/tags"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/spec"
)

type arnInput struct {
	ResourceARN string `json:"ResourceARN"`
}

type tagsOutput struct {
	Tags []tag `json:"Tags" xml:"Tags>member"`
}

type tagInput struct {
	ResourceARN string `json:"ResourceARN"`
	Tags        []tag  `json:"Tags"`
}

type untagInput struct {
	ResourceARN string   `json:"ResourceARN"`
	TagKeys     []string `json:"TagKeys"`
}

func (r *Request) listTagsForResource(_ context.Context, in *arnInput) (*tagsOutput, error) {
	a, err := r.tagged(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	out := &tagsOutput{Tags: []tag{}}
	for _, t := range a.Tags {
		out.Tags = append(out.Tags, tag(t))
	}
	return out, nil
}

func (r *Request) tagResource(ctx context.Context, in *tagInput) (*emptyOutput, error) {
	put := []spec.Tag{}
	for _, t := range in.Tags {
		put = append(put, spec.Tag(t))
	}
	if err := call.WithType(invalid, tags.Check(put)); err != nil {
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
	a, err := r.tagged(arn)
	if err == nil {
		err = r.mayChange(a)
	}
	if err != nil {
		return nil, err
	}
	_, err = r.Store.Propose(ctx, raftfsm.SetTags{Kind: alarm.Resource, ID: a.Name, Put: put, Remove: remove})
	switch {
	case errors.Is(err, spec.ErrTooManyTags):
		return nil, errInvalid("%v", err)
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoTagged(arn)
	}
	return &emptyOutput{}, err
}

// tagged is the alarm with that ARN, if the caller may know of it.
func (r *Request) tagged(arn string) (*alarm.Alarm, error) {
	if name, ok := alarm.ParseARN(arn); ok {
		if a, err := r.find(name); err == nil {
			return a, nil
		}
	}
	return nil, errNoTagged(arn)
}

func errNoTagged(arn string) error {
	return wire.Errorf(resourceNotFound, "There is no alarm with the ARN %.300s", arn)
}
