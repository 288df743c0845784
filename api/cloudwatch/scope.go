package cloudwatch

import (
	"cmp"

	"pinion/api/autoscaling"
	"pinion/api/wire"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Dimensions that say of which service a metric is, and of which load balancer.
const (
	dimensionCluster  = "ClusterName"
	dimensionService  = "ServiceName"
	dimensionBalancer = "LoadBalancer"
)

// resolveService finds the service whose metric an alarm watches: that of the dimensions, else that of the first policy that it starts.
func (r *Request) resolveService(a *alarm.Alarm, first scaling.PolicyName) error {
	for _, d := range a.Metric.Dimensions {
		switch d.Name {
		case dimensionCluster, dimensionService, scaling.DimensionGroup:
		case dimensionBalancer:
			if label := (scaling.Metric{Label: d.Value + "/targetgroup/name/id"}); a.Metric.Namespace != scaling.NamespaceELB || !r.hasBalancer(&label) {
				return errInvalid("the dimension %s=%.300s is not supported: it is of %s, and names a load balancer as app/NAME/ID", d.Name, d.Value, scaling.NamespaceELB)
			}
		default:
			return errInvalid("the dimension %.300s is not supported: a metric is of a service, by %s and %s, or of one of its target groups by %s", d.Name, dimensionCluster, dimensionService, scaling.DimensionGroup)
		}
	}
	a.Service = cmp.Or(a.Metric.Dimension(dimensionService), first.Service)
	a.Cluster = cmp.Or(a.Metric.Dimension(dimensionCluster), first.Cluster, spec.DefaultCluster)
	if a.Service == "" {
		return errInvalid("the dimensions %s and %s must say of which service the metric is, or an action must name a policy of it", dimensionCluster, dimensionService)
	}
	s, err := autoscaling.Scalable(r.Principal, r.View, a.Cluster, a.Service)
	if err != nil {
		return err
	}
	if s == nil {
		return errInvalid("there is no service %s in the cluster %s", a.Service, a.Cluster)
	}
	if err := autoscaling.CheckMeasured(r.View, s, a.Source()); err != nil {
		return errInvalid("%v", err)
	}
	return nil
}

func (r *Request) hasBalancer(label *scaling.Metric) bool {
	id, _, ok := label.LabelIDs()
	return ok && loadbalancer.Find(r.View, id) != nil
}

// sees reports whether the caller may know of an alarm: it sees the service. Of one that is gone, a key for some teams sees nothing.
func (r *Request) sees(a *alarm.Alarm) bool {
	if s := r.service(a); s != nil {
		return r.Principal.SeesService(s)
	}
	return r.Principal.Sees(a.Cluster, "")
}

// mayChange refuses a caller that may not scale the service of an alarm. The alarm of one that is gone is whoever's that sees it.
func (r *Request) mayChange(a *alarm.Alarm) error {
	if r.service(a) == nil && r.sees(a) {
		return nil
	}
	s, err := autoscaling.Scalable(r.Principal, r.View, a.Cluster, a.Service)
	if err == nil && s == nil {
		err = wire.Errorf(wire.AccessDenied, "%s may not do this: there is an alarm %s, of a service that its key is not for. Take another name.", r.Principal.ARN, a.Name)
	}
	return err
}

// service is the service of an alarm, nil when it is gone.
func (r *Request) service(a *alarm.Alarm) *service.Service {
	if s := r.View.Service(a.Cluster, a.Service); s != nil && s.Status == service.Active {
		return s
	}
	return nil
}
