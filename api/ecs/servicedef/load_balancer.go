package servicedef

import (
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const loadBalancersPath = "loadBalancers"

// ParseLoadBalancers reads the load balancers of a service. Whether there is such a target group is not asked.
func ParseLoadBalancers(given []types.LoadBalancerInput) (all []service.LoadBalancer, err error) {
	if len(given) > service.MaxLoadBalancers {
		return nil, field.Errorf(loadBalancersPath, "A service can have %d load balancers.", service.MaxLoadBalancers)
	}
	for i, one := range given {
		at := field.Index(loadBalancersPath, i)
		group, is := groupID(one.TargetGroupARN)
		switch {
		case !is:
			return nil, field.Errorf(field.Join(at, "targetGroupArn"), "The target group ARN %q is not valid: it is arn:aws:elasticloadbalancing:REGION:%s:targetgroup/NAME/ID.", one.TargetGroupARN, spec.AccountID)
		case one.ContainerName == "" || one.ContainerPort == nil:
			return nil, field.Errorf(at, "The load balancer needs containerName and containerPort.")
		}
		advanced, err := parseAdvanced(at, one.AdvancedConfiguration, group)
		if err != nil {
			return nil, err
		}
		all = append(all, service.LoadBalancer{Group: group, ARN: one.TargetGroupARN, Container: one.ContainerName, Port: *one.ContainerPort, Advanced: advanced})
	}
	return all, nil
}

// ruleID is the id in the ARN of a listener rule, or of a listener, which is that of its default rule.
func ruleID(arn string) (id string, is bool) {
	fields := strings.SplitN(arn, ":", 6)
	if len(fields) != 6 || fields[0] != "arn" || fields[2] != "elasticloadbalancing" || fields[4] != spec.AccountID {
		return "", false
	}
	names := strings.Split(fields[5], "/")
	return names[len(names)-1], len(names) >= 5 && strings.HasPrefix(names[0], "listener") && names[len(names)-1] != ""
}

// groupID is the id in the ARN of a target group.
func groupID(arn string) (id string, is bool) {
	fields := strings.SplitN(arn, ":", 6)
	if len(fields) != 6 || fields[0] != "arn" || fields[2] != "elasticloadbalancing" || fields[4] != spec.AccountID {
		return "", false
	}
	names := strings.Split(fields[5], "/")
	return names[len(names)-1], len(names) == 3 && names[0] == "targetgroup" && names[2] != ""
}

// CheckLoadBalancers refuses containers and ports that a definition has not.
func CheckLoadBalancers(all []service.LoadBalancer, d *spec.TaskDefinition) error {
	for i, b := range all {
		if d.NetworkMode == "none" {
			return field.Errorf(field.Index(loadBalancersPath, i), "The task definition has the network mode none: its tasks cannot be reached.")
		}
		if err := checkPort(field.Index(loadBalancersPath, i), b, d); err != nil {
			return err
		}
	}
	return nil
}

func checkPort(at string, b service.LoadBalancer, d *spec.TaskDefinition) error {
	for _, c := range d.Containers {
		if c.Name != b.Container {
			continue
		}
		for _, p := range c.PortMappings {
			if p.ContainerPort == b.Port && p.Protocol != "udp" {
				return nil
			}
		}
		return field.Errorf(field.Join(at, "containerPort"), "The container %s did not have a container port %d defined.", b.Container, b.Port)
	}
	return field.Errorf(field.Join(at, "containerName"), "The container %s does not exist in the task definition.", b.Container)
}
