package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"pinion/api/cli/invocation"
	"pinion/api/cli/listing"
	"pinion/api/client"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Spec is what a service is to be.
type Spec struct {
	Cluster    string
	Name       string
	Definition string         // "family:revision"
	Settings   map[string]any // of CreateService, but for what is above and the tags
	Tags       []spec.Tag
}

// Apply creates the service, or changes it when it is there, and returns it as it begins. Another definition than it has starts a rollout,
// nothing else does. Tags of it that are not wanted stay.
func Apply(ctx context.Context, inv *invocation.Invocation, w Spec) (listing.Item[client.Service], error) {
	in := map[string]any{"cluster": w.Cluster}
	for name, value := range w.Settings {
		in[name] = value
	}
	known, err := existing(ctx, inv, w.Cluster, w.Name)
	if err != nil {
		return listing.Item[client.Service]{}, err
	}
	if known == nil {
		in["serviceName"], in["taskDefinition"], in["propagateTags"], in["tags"] = w.Name, w.Definition, "SERVICE", w.Tags
		in["enableExecuteCommand"] = true
		return send(ctx, inv, "CreateService", in)
	}
	if err := call(ctx, inv, "TagResource", map[string]any{"resourceArn": known.ARN, "tags": w.Tags}, nil); err != nil {
		return listing.Item[client.Service]{}, err
	}
	in["service"] = w.Name
	if strategy, _ := in["schedulingStrategy"].(string); cmp.Or(strategy, string(service.Replica)) != known.Strategy {
		return listing.Item[client.Service]{}, fmt.Errorf("it is a %s service, which cannot change: remove it first with `pinion service rm %s`", known.Strategy, w.Name)
	}
	delete(in, "schedulingStrategy")
	if client.ResourceID(known.Definition) != w.Definition {
		in["taskDefinition"] = w.Definition
	}
	return send(ctx, inv, "UpdateService", in)
}

// existing is the service of that name that is not INACTIVE; nil when there is none.
func existing(ctx context.Context, inv *invocation.Invocation, cluster, name string) (*client.Service, error) {
	var out struct {
		Services []client.Service `json:"services"`
	}
	if err := inv.Client.Call(ctx, "DescribeServices", map[string]any{"cluster": cluster, "services": []string{name}}, &out); err != nil {
		return nil, err
	}
	if len(out.Services) == 0 || out.Services[0].Status == "INACTIVE" {
		return nil, nil
	}
	return &out.Services[0], nil
}

// Tagged are the names of the services of a cluster that have a tag.
func Tagged(ctx context.Context, inv *invocation.Invocation, cluster string, tag spec.Tag) (names []string, err error) {
	all, err := client.ServiceNames(ctx, inv.Client, cluster)
	if err != nil {
		return nil, err
	}
	services, err := describe(ctx, inv, cluster, all)
	for _, s := range services {
		if slices.Contains(s.Value.Tags, client.Tag(tag)) {
			names = append(names, s.Value.Name)
		}
	}
	return names, err
}
