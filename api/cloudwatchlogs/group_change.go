package cloudwatchlogs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pinion/api/ecs/call"
	"pinion/api/ecs/tags"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/spec"
)

type createLogGroupInput struct {
	LogGroupName       string            `json:"logGroupName"`
	LogGroupClass      string            `json:"logGroupClass"`
	Tags               map[string]string `json:"tags"`
	KMSKeyID           wire.Unsupported  `json:"kmsKeyId" why:"logs are files of the hosts, which Pinion does not encrypt"`
	DeletionProtection wire.Unsupported  `json:"deletionProtectionEnabled" why:"who may delete a log group may lift its protection too"`
}

type retentionInput struct {
	LogGroupName    string `json:"logGroupName"`
	RetentionInDays int    `json:"retentionInDays"`
}

type tagResourceInput struct {
	ResourceARN string            `json:"resourceArn"`
	Tags        map[string]string `json:"tags"`
}

type untagResourceInput struct {
	ResourceARN string   `json:"resourceArn"`
	TagKeys     []string `json:"tagKeys"`
}

type tagLogGroupInput struct {
	LogGroupName string            `json:"logGroupName"`
	Tags         map[string]string `json:"tags"`
}

type untagLogGroupInput struct {
	LogGroupName string   `json:"logGroupName"`
	Tags         []string `json:"tags"`
}

var groupName = lazyregexp.New(`^[-._/#A-Za-z0-9]+$`)

// maxGroupName is how long CloudWatch lets the names of groups be.
const maxGroupName = 512

// createLogGroup records a group, which may have its logs already: task definitions name them.
func createLogGroup(c *Request, ctx context.Context, in *createLogGroupInput) (*emptyOutput, error) {
	if len(in.LogGroupName) > maxGroupName || !groupName.MatchString(in.LogGroupName) {
		return nil, wire.Errorf(wire.InvalidParameter, "logGroupName must be 1 to 512 letters, digits and - _ / . #, not %q.", in.LogGroupName)
	}
	if class := cmp.Or(in.LogGroupClass, standard); class != standard {
		return nil, wire.Errorf(wire.InvalidParameter, "logGroupClass must be %s, the only one here, not %q.", standard, class)
	}
	list, err := tagList(in.Tags)
	if err != nil {
		return nil, err
	}
	_, err = c.Store.Propose(ctx, raftfsm.Wrap(loggroup.Create{Group: loggroup.Group{Name: in.LogGroupName, CreatedAt: c.Now(), Tags: list}}))
	switch {
	case errors.Is(err, spec.ErrInUse):
		return nil, wire.Errorf(alreadyExists, "The specified log group already exists")
	case errors.Is(err, loggroup.ErrTooMany):
		return nil, wire.Errorf(limitExceeded, "%v", err)
	}
	return &emptyOutput{}, err
}

// deleteLogGroup deletes a group with what was written to it, which hosts that are away do when they are back. A group that task
// definitions name stays, without its logs.
func deleteLogGroup(c *Request, ctx context.Context, in *groupInput) (*emptyOutput, error) {
	named, err := c.sources(in.LogGroupName)
	if err != nil {
		return nil, err
	}
	if len(named) > 0 {
		c.warn("the logs, the retention and the tags of %s are deleted; the group stays as long as task definitions name it, and what running containers have written lately until they end", in.LogGroupName)
	}
	_, err = c.Store.Propose(ctx, raftfsm.Wrap(loggroup.Delete{Name: in.LogGroupName, At: c.Now()}))
	return &emptyOutput{}, err
}

func putRetentionPolicy(c *Request, ctx context.Context, in *retentionInput) (*emptyOutput, error) {
	if days := loggroup.Retentions(); !slices.Contains(days, in.RetentionInDays) {
		return nil, wire.Errorf(wire.InvalidParameter, "retentionInDays must be one of %s, not %d.", strings.Trim(fmt.Sprint(days), "[]"), in.RetentionInDays)
	}
	return c.setRetention(ctx, in.LogGroupName, in.RetentionInDays)
}

func deleteRetentionPolicy(c *Request, ctx context.Context, in *groupInput) (*emptyOutput, error) {
	return c.setRetention(ctx, in.LogGroupName, 0)
}

// setRetention sets how many days hosts keep the logs of a group.
func (c *Request) setRetention(ctx context.Context, group string, days int) (*emptyOutput, error) {
	if err := c.record(ctx, group); err != nil {
		return nil, err
	}
	_, err := c.Store.Propose(ctx, raftfsm.Wrap(loggroup.SetRetention{Name: group, Days: days}))
	return &emptyOutput{}, missingGroup(err)
}

// record records a group that is there because task definitions name it.
func (c *Request) record(ctx context.Context, group string) error {
	if _, err := c.sources(group); err != nil {
		return err
	}
	if loggroup.Find(c.View, group) != nil {
		return nil
	}
	_, err := c.Store.Propose(ctx, raftfsm.Wrap(loggroup.Create{Group: loggroup.Group{Name: group, CreatedAt: c.groupCreationTimes()[group]}}))
	switch {
	case errors.Is(err, spec.ErrInUse): // another request has just done it
		return nil
	case errors.Is(err, loggroup.ErrTooMany):
		return wire.Errorf(limitExceeded, "%v", err)
	}
	return err
}

func missingGroup(err error) error {
	if errors.Is(err, spec.ErrNotFound) {
		return errNoGroup()
	}
	return err
}

func errNoGroup() error { return wire.Errorf(notFound, "The specified log group does not exist.") }

func tagResource(c *Request, ctx context.Context, in *tagResourceInput) (*emptyOutput, error) {
	group, err := parseGroupARN(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	return c.setTags(ctx, group, in.Tags, nil)
}

func untagResource(c *Request, ctx context.Context, in *untagResourceInput) (*emptyOutput, error) {
	group, err := parseGroupARN(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	return c.setTags(ctx, group, nil, in.TagKeys)
}

func tagLogGroup(c *Request, ctx context.Context, in *tagLogGroupInput) (*emptyOutput, error) {
	return c.setTags(ctx, in.LogGroupName, in.Tags, nil)
}

func untagLogGroup(c *Request, ctx context.Context, in *untagLogGroupInput) (*emptyOutput, error) {
	return c.setTags(ctx, in.LogGroupName, nil, in.Tags)
}

func (c *Request) setTags(ctx context.Context, group string, put map[string]string, remove []string) (*emptyOutput, error) {
	list, err := tagList(put)
	if err == nil {
		err = call.WithType(wire.InvalidParameter, tags.CheckKeys(remove))
	}
	if err == nil {
		err = c.record(ctx, group)
	}
	if err != nil {
		return nil, err
	}
	_, err = c.Store.Propose(ctx, raftfsm.SetTags{Kind: spec.ResourceLogGroup, ID: group, Put: list, Remove: remove})
	if errors.Is(err, spec.ErrTooManyTags) {
		return nil, wire.Errorf("TooManyTagsException", "%v", err)
	}
	return &emptyOutput{}, missingGroup(err)
}

// tagList checks tags by ECS's rules, and sorts them.
func tagList(given map[string]string) ([]spec.Tag, error) {
	list := tags.List(given)
	return list, call.WithType(wire.InvalidParameter, tags.Check(list))
}

type tagsOutput struct {
	Tags map[string]string `json:"tags"`
}

type resourceInput struct {
	ResourceARN string `json:"resourceArn"`
}

func (c *Request) listTagsForResource(_ context.Context, in *resourceInput) (*tagsOutput, error) {
	group, err := parseGroupARN(in.ResourceARN)
	if err != nil {
		return nil, err
	}
	return c.listTags(group)
}

func (c *Request) listTagsLogGroup(_ context.Context, in *groupInput) (*tagsOutput, error) {
	return c.listTags(in.LogGroupName)
}

func (c *Request) listTags(group string) (*tagsOutput, error) {
	if _, err := c.sources(group); err != nil {
		return nil, err
	}
	out := &tagsOutput{Tags: map[string]string{}}
	if known := c.created(group); known != nil {
		for _, tag := range known.Tags {
			out.Tags[tag.Key] = tag.Value
		}
	}
	return out, nil
}
