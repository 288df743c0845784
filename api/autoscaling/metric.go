package autoscaling

import (
	"fmt"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/label"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// checkMetric refuses a metric that is of something else than the service: it would never be measured, or be another than the caller means.
func (r *Request) checkMetric(in *resource, m *scaling.Metric) error {
	cluster, name, err := in.parse()
	if err != nil {
		return err
	}
	for _, d := range m.Dimensions {
		switch {
		case d.Name == scaling.DimensionGroup, d.Name == "ClusterName" && d.Value == cluster, d.Name == "ServiceName" && d.Value == name:
		default:
			return errInvalid("the dimension %s=%s is not supported: a metric is of the service itself, of ClusterName=%s and ServiceName=%s, or of one of its target groups by %s", d.Name, d.Value, cluster, name, scaling.DimensionGroup)
		}
	}
	source, err := m.Source()
	if err != nil {
		return errInvalid("%v", err)
	}
	if s := m.Statistic; s != "" && s != "Average" && !(s == "Sum" && source.OfProxies()) {
		return errInvalid("Statistic must be Average, not %s: metrics are averages over the tasks of the service", s)
	}
	if balancer, _, ok := m.LabelIDs(); ok && loadbalancer.Find(r.View, balancer) == nil {
		return errInvalid("ResourceLabel %s: there is no such load balancer", m.Label)
	}
	s, err := r.scalable(cluster, name)
	if s == nil || err != nil {
		return nil // that is told when it is changed
	}
	if err := CheckMeasured(r.View, s, source); err != nil {
		return errInvalid("%v", err)
	}
	return nil
}

// CheckMeasured refuses a series that nobody would measure of a service.
func CheckMeasured(v *raftfsm.View, s *service.Service, source metric.Name) error {
	revision := v.ServiceRevision(s.Primary().ID)
	switch group := source.Part(); {
	case revision == nil || group == "":
	case source.OfProxies() && !revision.Registers(group):
		return fmt.Errorf("the service %s does not register its tasks with the target group %s: its loadBalancers have to name it", s.Name, group)
	case !source.OfProxies() && !exports(v.Definition(revision.Definition)):
		return fmt.Errorf("no container of the task definition of the service %s exports metrics: give one the docker label %s with the port", s.Name, label.MetricPort)
	}
	return nil
}

// exports reports whether a container exports metrics.
func exports(d *spec.TaskDefinition) bool {
	return d != nil && slices.ContainsFunc(d.Containers, func(c spec.ContainerDefinition) bool { return c.DockerLabels[label.MetricPort] != "" })
}
