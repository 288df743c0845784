package ecs

import (
	"fmt"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// rollouts are the ARNs of the rollouts of web, the newest first.
func (f *fixture) rollouts(t testing.TB, filter string) (arns []string) {
	t.Helper()
	var out struct {
		ServiceDeployments []struct{ ServiceDeploymentARN string }
	}
	f.must(t, "ListServiceDeployments", `{"service":"web"`+filter+`}`).decode(t, &out)
	for _, d := range out.ServiceDeployments {
		arns = append(arns, d.ServiceDeploymentARN)
	}
	return arns
}

// A rollout and its revision, each answer with every byte of it.
func TestAServiceDeploymentIsDescribed(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":2,"deploymentConfiguration":{"deploymentCircuitBreaker":{"enable":true,"rollback":false}}}`)
	f.reportRunning(t, f.addTask(t, "1"))
	f.addTask(t, "2")
	d := f.rollouts(t, "")[0]
	f.must(t, "ListServiceDeployments", `{"service":"web"}`).stable().golden(t, "list-service-deployments")
	f.must(t, "DescribeServiceDeployments", `{"serviceDeploymentArns":["`+d+`"]}`).stable().golden(t, "describe-service-deployments")
	revision := arnPrefix + "service-revision/default/web/" + f.state.View().Service(spec.DefaultCluster, "web").Primary().ID
	f.must(t, "DescribeServiceRevisions", `{"serviceRevisionArns":["`+revision+`"]}`).stable().golden(t, "describe-service-revisions")
	other := strings.Replace(d, "/web/", "/other/", 1)
	if got := f.must(t, "DescribeServiceDeployments", `{"serviceDeploymentArns":["`+other+`"]}`).Body.String(); !strings.Contains(got, `"reason":"MISSING"`) {
		t.Errorf("of another service: %s", got)
	}
}

func TestServiceDeploymentsAreListedByStatusAndTime(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":2}`)
	first := f.rollouts(t, "")[0]
	f.must(t, "UpdateService", `{"service":"web","forceNewDeployment":true}`)
	for filter, want := range map[string]int{
		``: 2, `,"status":["IN_PROGRESS"]`: 1, `,"status":["STOPPED"]`: 1, `,"status":["SUCCESSFUL","PENDING"]`: 0, `,"createdAt":{}`: 2,
		fmt.Sprintf(`,"createdAt":{"after":%d}`, epoch.Unix()+1): 0, fmt.Sprintf(`,"createdAt":{"before":%d.5,"after":1}`, epoch.Unix()+1): 2,
	} {
		if got := f.rollouts(t, filter); len(got) != want {
			t.Errorf("%s: %v", filter, got)
		}
	}
	if stopped := f.rollouts(t, `,"status":["STOPPED"]`); len(stopped) != 1 || stopped[0] != first {
		t.Errorf("stopped is %v, not %s", stopped, first)
	}
	for filter, want := range map[string]string{`"status":["GONE"]`: "status must hold only", `"createdAt":{"after":"today"}`: "createdAt.after must be", `"createdAt":7`: "createdAt must be"} {
		if got := f.call("ListServiceDeployments", `{"service":"web",`+filter+`}`); got.err == nil || !strings.Contains(got.err.Error(), want) {
			t.Errorf("%s: %v", filter, got.err)
		}
	}
}

// A rollout in progress is rolled back to what was completed before; where nothing was, or it is over, that is a conflict.
func TestAServiceDeploymentIsRolledBack(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":1}`)
	first := f.rollouts(t, "")[0]
	stop := func(arn, more string) reply {
		return f.call("StopServiceDeployment", `{"serviceDeploymentArn":"`+arn+`"`+more+`}`)
	}
	if got := stop(first, `,"stopType":"ROLLBACK"`); got.err == nil || !strings.Contains(got.err.Error(), "no deployment of the service was ever completed") {
		t.Errorf("%v", got.err)
	}
	if got := stop(first, `,"stopType":"ABORT"`); got.err == nil || !strings.Contains(got.err.Error(), "stopType ABORT is not supported") {
		t.Errorf("%v", got.err)
	}
	f.completeWeb(t)
	f.must(t, "RegisterTaskDefinition", oneGPU)
	f.must(t, "UpdateService", `{"service":"web","taskDefinition":"tensorflow-1-gpu:2"}`)
	second := f.web(t).CurrentServiceDeployment
	if got := stop(second, ""); got.err != nil || !strings.Contains(got.Body.String(), second) {
		t.Fatalf("%v %s", got.err, got.Body)
	}
	if got := f.web(t); got.TaskDefinition != arnPrefix+"task-definition/tensorflow-1-gpu:1" {
		t.Errorf("%+v", got)
	}
	if again := stop(second, ""); errorType(again.err) != "ConflictException" {
		t.Errorf("%v", again.err)
	}
	f.must(t, "DescribeServiceDeployments", `{"serviceDeploymentArns":["`+second+`"]}`).stable().golden(t, "describe-service-deployments-rollback")
}

// completeWeb has the reconciler say that the PRIMARY deployment of web is complete.
func (f *fixture) completeWeb(t testing.TB) {
	t.Helper()
	s := *f.state.View().Service(spec.DefaultCluster, "web")
	s.Deployments = []service.Deployment{s.Deployments[0]}
	s.Deployments[0].State, s.Deployments[0].WasCompleted = service.Completed, true
	over := f.state.View().ServiceRollout(s.Primary().Rollout).End(service.RolloutSuccessful, "", epoch)
	f.mustApply(t, raftfsm.StepService{ServiceID: s.ID, Version: s.Version, Service: s, Rollouts: []service.Rollout{*over}, At: epoch})
}
