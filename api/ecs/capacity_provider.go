package ecs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// maxProviderPage is ECS's limit of capacity providers in one answer, and the default.
const maxProviderPage = 10

// statusEnabled and switchedOff are how ECS writes a switch.
const (
	statusEnabled  = "ENABLED"
	statusDisabled = "DISABLED"
)

// capacityProvider is ECS's CapacityProvider.
type capacityProvider struct {
	ARN          string                    `json:"capacityProviderArn"`
	Name         string                    `json:"name"`
	Status       string                    `json:"status"`
	Type         string                    `json:"type"`
	AutoScaling  *spec.AutoScalingProvider `json:"autoScalingGroupProvider"`
	UpdateStatus string                    `json:"updateStatus,omitempty"`
	Tags         []spec.Tag                `json:"tags"`
}

type describeProvidersInput struct {
	paging
	Cluster string   `json:"cluster"`
	Names   []string `json:"capacityProviders"`
	Include []string `json:"include"`
}

type describeProvidersOutput struct {
	Providers []capacityProvider `json:"capacityProviders"`
	Failures  []failure          `json:"failures"`
	NextToken string             `json:"nextToken,omitempty"`
}

// describeCapacityProviders shows those that are named, deleted ones too, or all that can be used. With a cluster it shows
// only those that tasks can be run through there.
func (c *Request) describeCapacityProviders(_ context.Context, in *describeProvidersInput) (*describeProvidersOutput, error) {
	usable := func(string) bool { return true }
	if in.Cluster != "" {
		k, err := c.resolveCluster(in.Cluster)
		if err != nil {
			return nil, err
		}
		usable = func(name string) bool { return usableIn(k, name) }
	}
	if err := allInEnum("include", in.Include, "TAGS"); err != nil {
		return nil, err
	}
	paging, err := in.withLimit(maxProviderPage)
	if err != nil {
		return nil, err
	}
	out := &describeProvidersOutput{Providers: []capacityProvider{}, Failures: []failure{}}
	found := slices.DeleteFunc(c.View.CapacityProviders(), func(p *spec.CapacityProvider) bool {
		return p.Status != spec.CapacityProviderActive || !usable(p.Name)
	})
	if len(in.Names) > 0 {
		if found, err = c.findProviders(in.Names, usable, out); err != nil {
			return nil, err
		}
	} else {
		slices.SortFunc(found, func(a, b *spec.CapacityProvider) int { return strings.Compare(a.Name, b.Name) })
		if found, out.NextToken, err = paginate(paging, found, false, func(p *spec.CapacityProvider) string { return p.Name }); err != nil {
			return nil, err
		}
	}
	for _, p := range found {
		out.Providers = append(out.Providers, c.renderProvider(p, len(in.Include) > 0))
	}
	return out, nil
}

// findProviders finds the providers of a list. What is not there becomes a failure of the answer.
func (c *Request) findProviders(names []string, usable func(string) bool, out *describeProvidersOutput) ([]*spec.CapacityProvider, error) {
	if len(names) > maxPage {
		return nil, wire.Errorf(wire.InvalidParameter, "capacityProviders can have at most %d items.", maxPage)
	}
	var found []*spec.CapacityProvider
	for _, given := range names {
		r, err := parseResource("capacity-provider", given)
		if err != nil {
			return nil, err
		}
		if p := c.View.CapacityProvider(r.name); p != nil && usable(r.name) {
			found = append(found, p)
			continue
		}
		out.Failures = append(out.Failures, failure{ARN: c.providerARN(r.name), Reason: spec.ReasonMissing})
	}
	return found, nil
}

func (c *Request) providerARN(name string) string { return c.arn("capacity-provider/" + name) }

func (c *Request) renderProvider(p *spec.CapacityProvider, withTags bool) capacityProvider {
	out := capacityProvider{
		ARN: c.providerARN(p.Name), Name: p.Name, Status: string(p.Status), Type: "EC2_AUTOSCALING",
		AutoScaling: effectiveScaling(p), UpdateStatus: updateStatus(p), Tags: []spec.Tag{},
	}
	if withTags {
		out.Tags = nonNil(p.Tags)
	}
	return out
}

// updateStatus is the last change, which is complete as soon as it is on record. The built-in one never changes.
func updateStatus(p *spec.CapacityProvider) string {
	switch {
	case p.Name == spec.BuiltinCapacityProvider:
		return ""
	case p.Status == spec.CapacityProviderInactive:
		return "DELETE_COMPLETE"
	case !p.UpdatedAt.IsZero():
		return "UPDATE_COMPLETE"
	}
	return "CREATE_COMPLETE"
}

// effectiveScaling is what a provider shows of its scaling group. One that was made without says that tasks wait in it, which is
// managed scaling's to say; the group has the provider's own name then.
func effectiveScaling(p *spec.CapacityProvider) *spec.AutoScalingProvider {
	if p.AutoScaling != nil {
		return p.AutoScaling
	}
	waits := autoScalingInput{ARN: p.Name, scalingInput: scalingInput{Scaling: &managedScalingInput{Status: statusEnabled}}}
	return waits.mergeOver(spec.AutoScalingProvider{})
}

// queuesTasks says whether tasks that are run through a provider wait when nothing is free. As on ECS that takes managed scaling.
func queuesTasks(p *spec.CapacityProvider) bool {
	return p.AutoScaling == nil || cmp.Or(p.AutoScaling.ManagedScaling, &spec.ManagedScaling{}).Status == statusEnabled
}

// usableIn says whether tasks can be run through a provider in a cluster: it is among the cluster's own, or the built-in.
func usableIn(k *spec.Cluster, name string) bool {
	return name == spec.BuiltinCapacityProvider || slices.Contains(k.CapacityProviders, name)
}
