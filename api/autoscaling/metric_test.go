package autoscaling

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// A policy can follow the requests of one target group, when the service registers its tasks there.
func TestAPolicyFollowsTheRequestsOfATargetGroup(t *testing.T) {
	f := newFixture(t)
	for _, c := range []raftfsm.Command{
		raftfsm.Wrap(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "b1", Name: "front"}}),
		raftfsm.CreateService{
			Service:  service.Service{ID: "front", Cluster: spec.DefaultCluster, Name: "front", Strategy: service.Replica},
			Revision: service.Revision{ID: "f1", Definition: "f:1", LoadBalancers: []service.LoadBalancer{{Group: "g1", Container: "c", Port: 80}}}, Rollout: service.Rollout{ID: "f1"},
		},
	} {
		if _, err := f.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	f.must(t, "RegisterScalableTarget", of("default/front", bounds))
	put := func(metric string) (string, error) {
		return f.as(admin, "PutScalingPolicy", of("default/front", `,"PolicyName":"p","PolicyType":"TargetTrackingScaling","TargetTrackingScalingPolicyConfiguration":{"TargetValue":2,`+metric+`}`))
	}
	label := func(text string) string {
		return `"PredefinedMetricSpecification":{"PredefinedMetricType":"ALBRequestCountPerTarget","ResourceLabel":"` + text + `"}`
	}
	custom := func(name, more string) string {
		return `"CustomizedMetricSpecification":{"Namespace":"Pinion","MetricName":"` + name + `"` + more + `}`
	}
	dimension := func(name, value string) string {
		return `,"Dimensions":[{"Name":"` + name + `","Value":"` + value + `"}]`
	}
	for metric, says := range map[string]string{
		label("app/front/b1/targetgroup/web/g1"):                                   "",
		custom("RequestsInFlight", ``):                                             "",
		custom("RequestsInFlight", dimension("TargetGroup", "targetgroup/web/g1")): "",
		custom("RequestCountPerTarget", `,"Statistic":"Sum"`):                      "",
		custom("CPUUtilization", dimension("ServiceName", "front")):                "",
		label(""):                                                                              "ResourceLabel of ALBRequestCountPerTarget must be",
		label("app/front/b1/targetgroup/web/"):                                                 "ResourceLabel of ALBRequestCountPerTarget must be",
		label("app/front/b2/targetgroup/web/g1"):                                               "there is no such load balancer",
		label("app/front/b1/targetgroup/api/g2"):                                               "does not register its tasks with the target group g2",
		custom("RequestsInFlight", dimension("TargetGroup", "web")):                            "must be targetgroup/NAME/ID",
		custom("CPUUtilization", dimension("TargetGroup", "targetgroup/web/g1")):               "is of RequestsInFlight and RequestCountPerTarget only",
		custom("RequestsInFlight/g1", ``):                                                      "is not known",
		custom("CPUUtilization", dimension("ServiceName", "web")):                              "the dimension ServiceName=web is not supported",
		`"CustomizedMetricSpecification":{"Namespace":"Pinion/Prometheus","MetricName":"a b"}`: "is no name of a Prometheus metric",
		`"CustomizedMetricSpecification":{"Namespace":"Pinion/Prometheus","MetricName":"a:b"}`: "exports metrics: give one the docker label pinion.metric-port",
		custom("CPUUtilization", `,"Statistic":"Maximum"`):                                     "Statistic must be Average",
	} {
		_, err := put(metric)
		if says == "" && err != nil || says != "" && (errorType(err) != invalid || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", metric, err)
		}
	}
}
