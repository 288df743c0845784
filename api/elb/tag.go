package elb

import (
	"context"
	"errors"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
)

// tagView is a tag of an object.
type tagView struct{ Key, Value string }

// Bounds of tags, ELB's.
const (
	maxTagKey   = 128
	maxTagValue = 256
)

// tagsIn reads the tags of a request.
func tagsIn(in form) (tags []spec.Tag, err error) {
	given, err := in.structures("Tags")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, one := range given {
		tag := spec.Tag{Key: one.text("Key"), Value: one.text("Value")}
		switch {
		case tag.Key == "" || len(tag.Key) > maxTagKey || len(tag.Value) > maxTagValue:
			return nil, invalid("A tag has a key of 1 to %d bytes and a value of up to %d, not %q.", maxTagKey, maxTagValue, tag.Key)
		case tag.Reserved():
			return nil, invalid("The tag %s begins with %s, which is reserved.", tag.Key, spec.ReservedTag)
		case seen[tag.Key]:
			return nil, wire.Errorf("DuplicateTagKeys", "The tag key %s is there twice", tag.Key)
		}
		seen[tag.Key] = true
		tags = append(tags, tag)
	}
	if len(tags) > spec.MaxTags {
		return nil, wire.Errorf("TooManyTags", "An object can have %d tags", spec.MaxTags)
	}
	return tags, nil
}

// resourcesIn are the objects whose tags a request is about.
func resourcesIn(in form) (found []raftfsm.SetTags, arns []string, err error) {
	if arns, err = in.list("ResourceArns"); err != nil {
		return nil, nil, err
	}
	if len(arns) == 0 || len(arns) > 20 {
		return nil, nil, invalid("ResourceArns must name 1 to 20 objects.")
	}
	for _, given := range arns {
		kind, id, err := ParseARN(given)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, raftfsm.SetTags{Kind: kind, ID: id})
	}
	return found, arns, nil
}

// errMissing is the refusal for an object that is not there.
func errMissing(kind spec.ResourceKind, arn string) error {
	switch kind {
	case loadbalancer.Resource:
		return errNoLoadBalancer(arn)
	case loadbalancer.ResourceGroup:
		return errNoGroup
	case loadbalancer.ResourceListener:
		return errNoListener
	}
	return errNoRule
}

func describeTags(_ context.Context, r *Request, in form) (any, error) {
	resources, arns, err := resourcesIn(in)
	if err != nil {
		return nil, err
	}
	type description struct {
		ResourceArn string
		Tags        []tagView `xml:"Tags>member"`
	}
	var all []description
	for i, of := range resources {
		tags, err := r.View.TagsOf(of.Kind, of.ID)
		if err != nil {
			return nil, errMissing(of.Kind, arns[i])
		}
		d := description{ResourceArn: arns[i]}
		for _, tag := range tags {
			d.Tags = append(d.Tags, tagView(tag))
		}
		all = append(all, d)
	}
	return struct {
		TagDescriptions []description `xml:"TagDescriptions>member"`
	}{all}, nil
}

func addTags(ctx context.Context, r *Request, in form) (any, error) {
	tags, err := tagsIn(in)
	if err != nil {
		return nil, err
	}
	if len(tags) == 0 {
		return nil, invalid("Tags must be given.")
	}
	return r.setTags(ctx, in, func(c *raftfsm.SetTags) error {
		if c.Put = tags; c.Kind != loadbalancer.ResourceGroup {
			return nil
		}
		if err := loadbalancer.CheckTags(tags); err != nil {
			return invalid("%v.", err)
		}
		return nil
	})
}

func removeTags(ctx context.Context, r *Request, in form) (any, error) {
	keys, err := in.list("TagKeys")
	if err != nil {
		return nil, err
	}
	return r.setTags(ctx, in, func(c *raftfsm.SetTags) error { c.Remove = keys; return nil })
}

// setTags changes the tags of the objects that a request names, one after another.
func (r *Request) setTags(ctx context.Context, in form, fill func(*raftfsm.SetTags) error) (any, error) {
	resources, arns, err := resourcesIn(in)
	if err != nil {
		return nil, err
	}
	for i := range resources {
		if err := fill(&resources[i]); err != nil {
			return nil, err
		}
	}
	for i, c := range resources {
		_, err := r.Store.Propose(ctx, c)
		if errors.Is(err, spec.ErrNotFound) {
			return nil, errMissing(c.Kind, arns[i])
		}
		if err != nil {
			return nil, refusalOf(err)
		}
	}
	return empty{}, nil
}
