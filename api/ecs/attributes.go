package ecs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// maxAttributes is how many attributes one request may put or delete.
const maxAttributes = 10

var (
	attributeName  = lazyregexp.New(`^[A-Za-z0-9_./\\-]{1,128}$`)
	attributeValue = lazyregexp.New(`^[A-Za-z0-9_.@/\\: -]{1,128}$`)
)

// putAttributes gives container instances custom attributes, all of them or none.
func putAttributes(ctx context.Context, r *Request, in *types.PutAttributesInput) (*types.PutAttributesOutput, error) {
	hosts, err := attributeTargets(r, in.Cluster, in.Attributes)
	if err != nil {
		return nil, err
	}
	command := raftfsm.PutAttributes{}
	for i, a := range in.Attributes {
		if a.Value != "" && (!attributeValue.MatchString(a.Value) || a.Value != strings.TrimSpace(a.Value)) {
			return nil, field.Errorf(attributePath(i, "value"), "the value of attribute %s must be 1 to 128 letters, digits, blanks within and - _ . @ / \\ :, not %q", a.Name, a.Value)
		}
		command.Attributes = append(command.Attributes, spec.HostAttribute{HostID: hosts[i].ID, Name: a.Name, Value: a.Value})
	}
	if _, err := r.Store.Propose(ctx, command); err != nil {
		return nil, attributeError(err)
	}
	return &types.PutAttributesOutput{Attributes: changedAttributes(r, in.Attributes, hosts)}, nil
}

// deleteAttributes deletes custom attributes, and answers with the values that they had. One that is not there is no error; one that the host sets itself is.
func deleteAttributes(ctx context.Context, r *Request, in *types.DeleteAttributesInput) (*types.DeleteAttributesOutput, error) {
	hosts, err := attributeTargets(r, in.Cluster, in.Attributes)
	if err != nil {
		return nil, err
	}
	command := raftfsm.DeleteAttributes{}
	for i, a := range in.Attributes {
		custom, is := hosts[i].CustomAttributes[a.Name]
		if _, own := hosts[i].Attributes[a.Name]; own && !is {
			return nil, field.Errorf(attributePath(i, "name"), "attribute %s of %s is set by the host itself: start it without that --attribute.", a.Name, hosts[i].Name)
		}
		if is && a.Value != "" && a.Value != custom {
			return nil, field.Errorf(attributePath(i, "value"), "attribute %s of %s is %q, not %q: leave the value out to delete it whatever it is.", a.Name, hosts[i].Name, custom, a.Value)
		}
		command.Attributes = append(command.Attributes, spec.HostAttribute{HostID: hosts[i].ID, Name: a.Name})
		in.Attributes[i].Value = custom
	}
	if _, err := r.Store.Propose(ctx, command); err != nil {
		return nil, attributeError(err)
	}
	return &types.DeleteAttributesOutput{Attributes: changedAttributes(r, in.Attributes, hosts)}, nil
}

func attributePath(at int, member string) string {
	return field.Join(field.Index("attributes", at), member)
}

// attributeTargets finds the host of each attribute.
func attributeTargets(r *Request, named string, attributes []types.TargetedAttribute) ([]*spec.Host, error) {
	cluster, err := r.Cluster(named)
	if err != nil {
		return nil, err
	}
	if len(attributes) == 0 {
		return nil, field.Errorf("attributes", "Attributes cannot be empty.")
	}
	if len(attributes) > maxAttributes {
		return nil, field.Errorf("attributes", "attributes can have at most %d items, not %d.", maxAttributes, len(attributes))
	}
	var hosts []*spec.Host
	for i, a := range attributes {
		if err := checkAttribute(i, a); err != nil {
			return nil, err
		}
		id, err := call.ParseInCluster(cluster.Name, arn.ContainerInstance, a.TargetID)
		if err != nil {
			return nil, err
		}
		host := r.View.Host(id)
		if host == nil || host.Cluster != cluster.Name {
			return nil, errNoTarget
		}
		hosts = append(hosts, host)
	}
	return hosts, nil
}

var errNoTarget = wire.Errorf("TargetNotFoundException", "The specified target was not found. List the container instances of the cluster with ListContainerInstances.")

func checkAttribute(at int, a types.TargetedAttribute) error {
	name := attributePath(at, "name")
	switch {
	case !attributeName.MatchString(a.Name):
		return field.Errorf(name, "the name of an attribute must be 1 to 128 letters, digits and - _ . / \\, not %q", a.Name)
	case spec.ReservedAttribute(a.Name):
		return field.Errorf(name, "attribute %s follows from what the host is and cannot be changed.", a.Name)
	case strings.HasPrefix(a.Name, "ecs."):
		return field.Errorf(name, "attribute %s is set where the host is started: pinion up --attribute %s=VALUE.", a.Name, a.Name)
	case a.TargetID == "":
		return field.Errorf(attributePath(at, "targetId"), "targetId of attribute %s must not be empty.", a.Name)
	}
	return nil
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

func changedAttributes(r *Request, attributes []types.TargetedAttribute, hosts []*spec.Host) []types.TargetedAttribute {
	var out []types.TargetedAttribute
	for i, a := range attributes {
		out = append(out, targetedAttribute(r, hosts[i], a.Name, a.Value))
	}
	return out
}

func targetedAttribute(r *Request, h *spec.Host, name, value string) types.TargetedAttribute {
	return types.TargetedAttribute{Name: name, Value: value, TargetID: r.Render().InstanceARN(h.Cluster, h.ID)}
}

// listAttributes lists the attributes of every container instance of a cluster, custom and built-in.
func listAttributes(_ context.Context, r *Request, in *types.ListAttributesInput) (*types.ListAttributesOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if in.AttributeValue != "" && in.AttributeName == "" {
		return nil, field.Errorf("attributeName", "attributeValue needs an attributeName.")
	}
	var found []types.TargetedAttribute
	for _, host := range r.View.Hosts(cluster.Name) {
		all := host.AllAttributes()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if (in.AttributeName == "" || in.AttributeName == name) && (in.AttributeValue == "" || in.AttributeValue == all[name]) {
				found = append(found, targetedAttribute(r, host, name, all[name]))
			}
		}
	}
	page, next, err := paging.Cut(in.Paging, found, false, func(a types.TargetedAttribute) string { return a.TargetID + "\x00" + a.Name })
	if err != nil {
		return nil, err
	}
	return &types.ListAttributesOutput{Attributes: call.NonNil(page), NextToken: next}, nil
}
