package ecs

import (
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// maxAttributes is how many attributes one call may put or delete.
const maxAttributes = 10

var (
	attributeName  = regexp.MustCompile(`^[A-Za-z0-9_./\\-]{1,128}$`)
	attributeValue = regexp.MustCompile(`^[A-Za-z0-9_.@/\\: -]{1,128}$`)
)

// targetedAttribute is ECS's Attribute where it says what it belongs to.
type targetedAttribute struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Type   string `json:"targetType,omitempty"`
	Target string `json:"targetId,omitempty"`
}

// instanceTarget is the only type of target there is.
const instanceTarget = "container-instance"

type attributesInput struct {
	Cluster    string              `json:"cluster"`
	Attributes []targetedAttribute `json:"attributes"`
}

type attributesOutput struct {
	Attributes []targetedAttribute `json:"attributes"`
}

// putAttributes gives container instances custom attributes, all of them or none.
func (c *Request) putAttributes(ctx context.Context, in *attributesInput) (*attributesOutput, error) {
	hosts, err := c.resolveTargets(in)
	if err != nil {
		return nil, err
	}
	command := raftfsm.PutAttributes{}
	for i, a := range in.Attributes {
		if a.Value != "" && (!attributeValue.MatchString(a.Value) || a.Value != strings.TrimSpace(a.Value)) {
			return nil, wire.Errorf(wire.InvalidParameter, "the value of attribute %s must be 1 to 128 letters, digits, blanks within and - _ . @ / \\ :, not %q", a.Name, a.Value)
		}
		command.Attributes = append(command.Attributes, spec.HostAttribute{HostID: hosts[i].ID, Name: a.Name, Value: a.Value})
	}
	if _, err := c.Store.Propose(ctx, command); err != nil {
		return nil, attributeError(err)
	}
	return c.attributesOutput(in, hosts), nil
}

// deleteAttributes takes custom attributes away. One that is not there is no error; one that the host says of itself is.
func (c *Request) deleteAttributes(ctx context.Context, in *attributesInput) (*attributesOutput, error) {
	hosts, err := c.resolveTargets(in)
	if err != nil {
		return nil, err
	}
	command := raftfsm.DeleteAttributes{}
	for i, a := range in.Attributes {
		custom, is := hosts[i].CustomAttributes[a.Name]
		if _, own := hosts[i].Attributes[a.Name]; own && !is {
			return nil, wire.Errorf(wire.InvalidParameter, "attribute %s of %s is what the host says of itself: start it without that --attribute.", a.Name, hosts[i].Name)
		}
		if is && a.Value != "" && a.Value != custom {
			return nil, wire.Errorf(wire.InvalidParameter, "attribute %s of %s is %q, not %q: leave the value out to delete it whatever it is.", a.Name, hosts[i].Name, custom, a.Value)
		}
		command.Attributes = append(command.Attributes, spec.HostAttribute{HostID: hosts[i].ID, Name: a.Name})
	}
	if _, err := c.Store.Propose(ctx, command); err != nil {
		return nil, attributeError(err)
	}
	return c.attributesOutput(in, hosts), nil
}

// resolveTargets finds the host of each attribute.
func (c *Request) resolveTargets(in *attributesInput) ([]*spec.Host, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if len(in.Attributes) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "Attributes cannot be empty.")
	}
	if len(in.Attributes) > maxAttributes {
		return nil, wire.Errorf(wire.InvalidParameter, "attributes can have at most %d items, not %d.", maxAttributes, len(in.Attributes))
	}
	var hosts []*spec.Host
	for _, a := range in.Attributes {
		if err := checkAttribute(a); err != nil {
			return nil, err
		}
		id, err := parseInCluster(k.Name, instanceTarget, a.Target)
		if err != nil {
			return nil, err
		}
		host := c.View.Host(id)
		if host == nil || host.Cluster != k.Name {
			return nil, errNoTarget
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

var errNoTarget = wire.Errorf("TargetNotFoundException", "The specified target was not found. List the container instances of the cluster with ListContainerInstances.")

func checkAttribute(a targetedAttribute) error {
	switch {
	case !attributeName.MatchString(a.Name):
		return wire.Errorf(wire.InvalidParameter, "the name of an attribute must be 1 to 128 letters, digits and - _ . / \\, not %q", a.Name)
	case spec.ReservedAttribute(a.Name):
		return wire.Errorf(wire.InvalidParameter, "attribute %s follows from what the host is and cannot be changed.", a.Name)
	case strings.HasPrefix(a.Name, "ecs."):
		return wire.Errorf(wire.InvalidParameter, "attribute %s is set where the host is started: pinion up --attribute %s=VALUE.", a.Name, a.Name)
	case a.Target == "":
		return wire.Errorf(wire.InvalidParameter, "targetId of attribute %s must not be empty.", a.Name)
	}
	return inEnum("targetType", a.Type, instanceTarget)
}

func attributeError(err error) error {
	switch {
	case errors.Is(err, spec.ErrTooManyAttributes):
		return wire.Errorf("AttributeLimitExceededException", "A container instance can have %d custom attributes: delete some first.", spec.MaxCustomAttributes)
	case errors.Is(err, spec.ErrNotFound):
		return errNoTarget
	}
	return err
}

func (c *Request) attributesOutput(in *attributesInput, hosts []*spec.Host) *attributesOutput {
	out := &attributesOutput{}
	for i, a := range in.Attributes {
		out.Attributes = append(out.Attributes, c.attributeOutput(hosts[i], a.Name, a.Value))
	}
	return out
}

func (c *Request) attributeOutput(h *spec.Host, name, value string) targetedAttribute {
	return targetedAttribute{Name: name, Value: value, Target: c.instanceARN(h.Cluster, h.ID)}
}

type listAttributesInput struct {
	paging
	Cluster string `json:"cluster"`
	Type    string `json:"targetType"`
	Name    string `json:"attributeName"`
	Value   string `json:"attributeValue"`
}

type listAttributesOutput struct {
	Attributes []targetedAttribute `json:"attributes"`
	NextToken  string              `json:"nextToken,omitempty"`
}

// listAttributes lists the attributes of every container instance of a cluster, also those that nobody put.
func (c *Request) listAttributes(_ context.Context, in *listAttributesInput) (*listAttributesOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := allInEnum("targetType", []string{in.Type}, instanceTarget); err != nil {
		return nil, err
	}
	if in.Value != "" && in.Name == "" {
		return nil, wire.Errorf(wire.InvalidParameter, "attributeValue needs an attributeName.")
	}
	var found []targetedAttribute
	for _, host := range c.View.Hosts(k.Name) {
		all := host.AllAttributes()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if (in.Name == "" || in.Name == name) && (in.Value == "" || in.Value == all[name]) {
				found = append(found, c.attributeOutput(host, name, all[name]))
			}
		}
	}
	page, next, err := paginate(in.paging, found, false, func(a targetedAttribute) string { return a.Target + "\x00" + a.Name })
	if err != nil {
		return nil, err
	}
	return &listAttributesOutput{nonNil(page), next}, nil
}
