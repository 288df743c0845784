package autoscaling

import (
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
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
	return r.checkGroup(cluster, name, source)
}

// checkGroup refuses a metric of a target group with which the service does not register its tasks.
func (r *Request) checkGroup(cluster, name string, source metric.Name) error {
	group := source.Part()
	s, err := r.scalable(cluster, name)
	if group == "" || s == nil || err != nil {
		return nil // that is told when it is changed
	}
	if revision := r.View.ServiceRevision(s.Primary().ID); revision == nil || !revision.Registers(group) {
		return errInvalid("the service %s does not register its tasks with the target group %s: its loadBalancers have to name it", name, group)
	}
	return nil
}
