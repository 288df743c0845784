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

// Subnets are the names of networks of tasks, one of which the hosts of tasks of the definition have to be in, as a network configuration says: at least
// one for networkMode awsvpc, and none for the other modes. hosts are those of the cluster.
func Subnets(given *types.NetworkConfigurationInput, d *spec.TaskDefinition, hosts []*spec.Host) ([]string, error) {
	asked := given != nil && given.AwsvpcConfiguration != nil
	switch {
	case !d.HasOwnAddress() && asked:
		return nil, field.Errorf("networkConfiguration", "Network Configuration is not valid for the given networkMode of this task definition.")
	case !d.HasOwnAddress():
		return nil, nil
	case !asked && len(networks(hosts)) == 1:
		return networks(hosts), nil
	case !asked:
		return nil, wire.Errorf(wire.InvalidParameter, "Network Configuration must be provided when networkMode 'awsvpc' is specified. Its subnets are %s.", known(hosts))
	}
	in, path := given.AwsvpcConfiguration, "networkConfiguration.awsvpcConfiguration"
	if err := field.OneOf(field.Join(path, "assignPublicIp"), in.AssignPublicIp, "ENABLED", "DISABLED"); err != nil {
		return nil, err
	}
	if in.AssignPublicIp == "ENABLED" {
		return nil, field.Errorf(field.Join(path, "assignPublicIp"), "Assign public IP is not supported for this launch type.")
	}
	if len(in.Subnets) == 0 || len(in.Subnets) > maxSubnets {
		return nil, field.Errorf(field.Join(path, "subnets"), "subnets must have 1 to %d items, not %d. They are %s.", maxSubnets, len(in.Subnets), known(hosts))
	}
	for i, name := range in.Subnets {
		if err := tasknetwork.CheckName(name); err != nil {
			return nil, field.Errorf(field.Index(field.Join(path, "subnets"), i), "%v.", err)
		}
		if !slices.ContainsFunc(hosts, func(h *spec.Host) bool { return h.TaskNetwork != nil && h.TaskNetwork.Name == name }) {
			return nil, field.Errorf(field.Index(field.Join(path, "subnets"), i), "The subnet ID '%s' does not exist: no host of the cluster was started with --task-network %s=RANGE. Those that exist are %s.", name, name, known(hosts))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(in.Subnets))), nil
}

// CheckHosts refuses hosts, by their ids, that are in none of the networks that StartTask names.
func CheckHosts(given *types.NetworkConfigurationInput, d *spec.TaskDefinition, ids []string, view interface{ Host(id string) *spec.Host }) error {
	if given == nil || given.AwsvpcConfiguration == nil || !d.HasOwnAddress() {
		return nil
	}
	for i, id := range ids {
		h := view.Host(id)
		if h != nil && (h.TaskNetwork == nil || !slices.Contains(given.AwsvpcConfiguration.Subnets, h.TaskNetwork.Name)) {
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

// known names the networks of tasks that the hosts are in.
func known(hosts []*spec.Host) string {
	names := networks(hosts)
	if len(names) == 0 {
		return "the names of networks that hosts have by pinion up --task-network, of which the cluster has none"
	}
	return strings.Join(names, ", ")
}
