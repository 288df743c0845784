package placement

import (
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
)

// maxSubnets is ECS's limit for a network configuration.
const maxSubnets = 16

// Hosts are the hosts of clusters, as raftfsm.View has them.
type Hosts interface {
	Hosts(cluster string) []*spec.Host
	Host(id string) *spec.Host
}

// Subnets are the names of networks of tasks, one of which the hosts of tasks of the definition have to be in, as a network configuration says: at least
// one for networkMode awsvpc, and none for the other modes. When all hosts of the cluster that have a network have the same one, it need not be named.
func Subnets(given *types.NetworkConfigurationInput, d *spec.TaskDefinition, of Hosts, cluster string) ([]string, error) {
	asked := given != nil && given.AwsvpcConfiguration != nil
	switch {
	case !d.HasOwnAddress() && asked:
		return nil, field.Errorf("networkConfiguration", "Network Configuration is not valid for the given networkMode of this task definition.")
	case !d.HasOwnAddress():
		return nil, nil
	}
	known := networks(of.Hosts(cluster))
	switch {
	case !asked && len(known) == 1:
		return known, nil
	case !asked:
		return nil, wire.Errorf(wire.InvalidParameter, "Network Configuration must be provided when networkMode 'awsvpc' is specified. Its subnets are %s.", list(known))
	}
	in, path := given.AwsvpcConfiguration, "networkConfiguration.awsvpcConfiguration"
	if err := field.OneOf(field.Join(path, "assignPublicIp"), in.AssignPublicIp, "ENABLED", "DISABLED"); err != nil {
		return nil, err
	}
	if in.AssignPublicIp == "ENABLED" {
		return nil, field.Errorf(field.Join(path, "assignPublicIp"), "Assign public IP is not supported for this launch type.")
	}
	if len(in.Subnets) == 0 || len(in.Subnets) > maxSubnets {
		return nil, field.Errorf(field.Join(path, "subnets"), "subnets must have 1 to %d items, not %d. They are %s.", maxSubnets, len(in.Subnets), list(known))
	}
	for i, name := range in.Subnets {
		if err := tasknetwork.CheckName(name); err != nil {
			return nil, field.Errorf(field.Index(field.Join(path, "subnets"), i), "%v.", err)
		}
		if !slices.Contains(known, name) {
			return nil, field.Errorf(field.Index(field.Join(path, "subnets"), i), "The subnet ID '%s' does not exist: no host of the cluster was started with --task-network %s=RANGE. Those that exist are %s.", name, name, list(known))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(in.Subnets))), nil
}

// AddNetwork has the tasks of a run be in the networks that a network configuration names: hosts that StartTask names have to be in one of them, and for
// RunTask it is a placement constraint.
func AddNetwork(run *spec.RunRequest, given *types.NetworkConfigurationInput, d *spec.TaskDefinition, of Hosts) error {
	subnets, err := Subnets(given, d, of, run.Cluster)
	if err != nil || len(subnets) == 0 {
		return err
	}
	if options, _ := spec.ParseSchedulingOptions(run.Tags); options.Gang {
		return field.Errorf("tags", "The tasks of a gang find one another at the addresses of their hosts, which containers of networkMode awsvpc do not have: use networkMode host or bridge.")
	}
	if len(run.Hosts) == 0 {
		run.Constraints = append(run.Constraints, spec.InSubnets(subnets))
		return nil
	}
	for i, id := range run.Hosts {
		h := of.Host(id)
		if asked := given != nil && given.AwsvpcConfiguration != nil; asked && h != nil && (h.TaskNetwork == nil || !slices.Contains(subnets, h.TaskNetwork.Name)) {
			return field.Errorf(field.Index("containerInstances", i), "host %s is in none of the subnets that networkConfiguration names.", h.Name)
		}
	}
	return nil
}

// networks are the names of the networks of tasks that the hosts are in, sorted.
func networks(hosts []*spec.Host) (names []string) {
	for _, h := range hosts {
		if h.TaskNetwork != nil {
			names = append(names, h.TaskNetwork.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// list writes the names of networks in a sentence.
func list(names []string) string {
	if len(names) == 0 {
		return "the names of networks that hosts have by pinion up --task-network, of which the cluster has none"
	}
	return strings.Join(names, ", ")
}
