package ecs

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

const ruleARN = "arn:aws:elasticloadbalancing:us-east-1:" + spec.AccountID + ":listener-rule/app/front/b/l/"

// withRule has a listener whose rule r forwards to the group open.
func withRule(t *testing.T) *fixture {
	f := balanced(t)
	forward := traffic.Action{Forward: []traffic.WeightedGroup{{Group: "open", Weight: 1}}}
	f.mustApply(t, raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: "green", Name: "green", Protocol: traffic.HTTP, Tags: []spec.Tag{{Key: loadbalancer.TagCluster, Value: "*"}}}}))
	f.mustApply(t, raftfsm.Wrap(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "b", Name: "front", Type: loadbalancer.Application}}))
	f.mustApply(t, raftfsm.Wrap(loadbalancer.CreateListener{
		Listener: loadbalancer.Listener{ID: "l", LoadBalancer: "b", Port: 8080, Protocol: traffic.HTTP}, Default: loadbalancer.Rule{ID: "r", Action: forward}}))
	return f
}

func shiftedBy(rule string) string {
	return `"loadBalancers":[{"targetGroupArn":"` + groupARN + `open/open","containerName":"main","containerPort":80,"advancedConfiguration":{"alternateTargetGroupArn":"` + groupARN +
		`green/green","productionListenerRule":"` + rule + `","roleArn":"arn:aws:iam::1:role/x"}}]`
}

// A service with two target groups: each deployment is registered with the one that the last has not, and the service is shown as it was asked for.
func TestABlueGreenServiceAlternatesItsTargetGroups(t *testing.T) {
	f := withRule(t)
	body := `"serviceName":"web","taskDefinition":"served","desiredCount":1,` + shiftedBy(ruleARN+"r") + `,"deploymentConfiguration":{"strategy":"LINEAR","bakeTimeInMinutes":5,"linearConfiguration":{"stepPercent":25.5}}`
	first := f.must(t, "CreateService", `{`+body+`}`).Body.String()
	for _, want := range []string{`"strategy":"LINEAR"`, `"bakeTimeInMinutes":5`, `"stepPercent":25.5`, `"stepBakeTimeInMinutes":6`, `"roleArn":"arn:aws:iam::1:role/x"`, `"productionListenerRule":"` + ruleARN + `r"`} {
		if !strings.Contains(first, want) {
			t.Errorf("%s is not in %s", want, first)
		}
	}
	if again := f.call("CreateService", `{`+body+`}`); again.err != nil {
		t.Errorf("the same again: %v", again.err)
	}
	groupOf := func() string {
		s := f.state.View().Service(spec.DefaultCluster, "web")
		return f.state.View().ServiceRevision(s.Primary().ID).LoadBalancers[0].Group
	}
	if groupOf() != "open" {
		t.Errorf("the first deployment is registered with %s", groupOf())
	}
	f.addTask(t, "1")
	f.must(t, "UpdateService", `{"service":"web","forceNewDeployment":true}`)
	s := f.state.View().Service(spec.DefaultCluster, "web")
	if groupOf() != "green" || !s.Shift.IsOn() || s.Shift.Stage != service.StageReconcile {
		t.Errorf("the second is registered with %s: %+v", groupOf(), s.Shift)
	}
	f.must(t, "UpdateService", `{"service":"web","forceNewDeployment":true}`)
	if groupOf() != "green" || f.state.View().Service(spec.DefaultCluster, "web").Shift.From != s.Shift.From {
		t.Errorf("one that comes while the traffic is still the first one's is registered with %s", groupOf())
	}
	shown := f.must(t, "DescribeServiceDeployments", `{"serviceDeploymentArns":["`+f.web(t).CurrentServiceDeployment+`"]}`).Body.String()
	if !strings.Contains(shown, `"lifecycleStage":"RECONCILE_SERVICE"`) || !strings.Contains(shown, `"requestedProductionTrafficWeight":0`) {
		t.Errorf("%s", shown)
	}
}

func TestWhatTrafficCannotBeMovedBy(t *testing.T) {
	f := withRule(t)
	for members, want := range map[string]string{
		balancedBy("open", "main", "80") + `,"deploymentConfiguration":{"strategy":"BLUE_GREEN"}`: "needs advancedConfiguration",
		shiftedBy("nonsense"):    "productionListenerRule must be the ARN of a listener rule",
		shiftedBy(ruleARN + "x"): "there is no such listener rule",
		strings.Replace(shiftedBy(ruleARN+"r"), "green/green", "open/open", 1):                                               "another target group",
		strings.ReplaceAll(strings.ReplaceAll(shiftedBy(ruleARN+"r"), "green/green", "lab/lab"), "open/open", "green/green"): "forwards to neither",
	} {
		if got := f.call("CreateService", `{"serviceName":"web","taskDefinition":"served","desiredCount":1,`+members+`}`); got.err == nil || !strings.Contains(got.err.Error(), want) {
			t.Errorf("%s: %v", members, got.err)
		}
	}
}
