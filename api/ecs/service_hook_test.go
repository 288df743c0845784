package ecs

import (
	"strings"
	"testing"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const hooks = `"lifecycleHooks":[{"targetType":"PAUSE","lifecycleStages":["PRE_SCALE_UP","POST_SCALE_UP"],"timeoutConfiguration":{"timeoutInMinutes":10}}]`

// powers is a definition that asks for what only an administrator can ask for.
var powers = strings.Replace(oneGPU, `"cpu":1024,"res`, `"privileged":true,"res`, 1)

// pausedWeb is a service of an administrator whose second deployment waits at PRE_SCALE_UP, and the ARN of its rollout.
func pausedWeb(t *testing.T, definition string) (f *fixture, rollout string) {
	f = ready(t)
	asAdmin := func(operation, body string) {
		t.Helper()
		if got := f.asKey(accesskey.RoleAdmin, accesskey.Grant{}, "", operation, body); got.err != nil {
			t.Fatal(got.err)
		}
	}
	asAdmin("CreateService", `{`+serving+`,"desiredCount":1,"deploymentConfiguration":{`+hooks+`}}`)
	f.completeWeb(t)
	f.must(t, "RegisterTaskDefinition", definition)
	asAdmin("UpdateService", `{"service":"web","taskDefinition":"tensorflow-1-gpu:2"}`)
	f.pauseWeb(t)
	return f, f.web(t).CurrentServiceDeployment
}

// pauseWeb has the reconciler say that the rollout of web waits at PRE_SCALE_UP, for the hook ecs-pause-h.
func (f *fixture) pauseWeb(t *testing.T) {
	t.Helper()
	s := *f.state.View().Service(spec.DefaultCluster, "web")
	s.Shift.Stage = service.StagePreScaleUp
	paused := f.state.View().ServiceRollout(s.Primary().Rollout).Pause(service.StagePreScaleUp, func() string { return "h" }, epoch)
	f.mustApply(t, raftfsm.StepService{ServiceID: s.ID, Version: s.Version, Service: s, Rollouts: []service.Rollout{*paused}, At: epoch})
}

func answering(rollout, hook, more string) string {
	return `{"serviceDeploymentArn":"` + rollout + `","hookId":"` + hook + `"` + more + `}`
}

func TestAPausedServiceDeploymentIsContinued(t *testing.T) {
	f, rollout := pausedWeb(t, oneGPU)
	first := f.rollouts(t, `,"status":["SUCCESSFUL"]`)[0]
	shown := f.must(t, "DescribeServiceDeployments", `{"serviceDeploymentArns":["`+rollout+`"]}`).Body.String()
	for _, want := range []string{
		`"lifecycleStage":"PRE_SCALE_UP"`, `"lifecycleHookDetails":[{"hookId":"ecs-pause-h","targetType":"PAUSE","status":"AWAITING_ACTION","expiresAt":`, `"timeoutAction":"ROLLBACK"}]`,
		`"lifecycleHooks":[{"targetType":"PAUSE","lifecycleStages":["PRE_SCALE_UP","POST_SCALE_UP"],"timeoutConfiguration":{"timeoutInMinutes":10}}]`,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s is not in %s", want, shown)
		}
	}
	for body, want := range map[string]string{
		answering(rollout+"x", "ecs-pause-h", ""):                                   "ServiceDeploymentNotFoundException",
		answering(rollout, "ecs-pause-other", ""):                                   wire.InvalidParameter,
		answering(rollout, "ecs-pause-h", `,"action":"STOP"`):                       wire.InvalidParameter,
		answering(first, "ecs-pause-h", ""):                                         wire.InvalidParameter,
		`{"serviceDeploymentArn":"` + rollout + `"}`:                                wire.InvalidParameter,
		strings.Replace(answering(rollout, "ecs-pause-h", ""), "/web/", "/api/", 1): "ServiceDeploymentNotFoundException",
	} {
		if got := f.call("ContinueServiceDeployment", body); errorType(got.err) != want {
			t.Errorf("%s: %v", body, got.err)
		}
	}
	if got := f.must(t, "ContinueServiceDeployment", answering(rollout, "ecs-pause-h", "")).Body.String(); !strings.Contains(got, `{"serviceDeploymentArn":"`+rollout+`"}`) {
		t.Errorf("%s", got)
	}
	shown = f.must(t, "DescribeServiceDeployments", `{"serviceDeploymentArns":["`+rollout+`"]}`).Body.String()
	if !strings.Contains(shown, `"status":"SUCCEEDED"`) {
		t.Errorf("%s", shown)
	}
	if again := f.call("ContinueServiceDeployment", answering(rollout, "ecs-pause-h", "")); again.err == nil || !strings.Contains(again.err.Error(), "does not wait for the hook") {
		t.Errorf("%v", again.err)
	}
}

func TestAPausedServiceDeploymentIsRolledBack(t *testing.T) {
	for operation, body := range map[string]func(string) string{
		"ContinueServiceDeployment": func(rollout string) string { return answering(rollout, "ecs-pause-h", `,"action":"ROLLBACK"`) },
		"StopServiceDeployment":     func(rollout string) string { return `{"serviceDeploymentArn":"` + rollout + `"}` },
	} {
		f, rollout := pausedWeb(t, oneGPU)
		f.must(t, operation, body(rollout))
		shown := f.must(t, "DescribeServiceDeployments", `{"serviceDeploymentArns":["`+rollout+`"]}`).Body.String()
		if !strings.Contains(shown, `"status":"FAILED"`) || !strings.Contains(shown, `"status":"ROLLBACK_IN_PROGRESS"`) || !strings.HasSuffix(f.web(t).TaskDefinition, ":1") {
			t.Errorf("%s: %s", operation, shown)
		}
	}
}

// Who has a deployment go on decides what runs, as with UpdateService.
func TestWhoMayContinueAServiceDeployment(t *testing.T) {
	for name, c := range map[string]struct {
		role  accesskey.Role
		grant accesskey.Grant
		body  string
		want  string
	}{
		"a key of another team":         {accesskey.RoleAdmin, accesskey.Grant{Teams: []string{"vision"}}, "", "ServiceDeploymentNotFoundException"},
		"no administrator, with powers": {accesskey.RoleSubmit, accesskey.Grant{}, "", wire.AccessDenied},
		"no administrator, back":        {accesskey.RoleSubmit, accesskey.Grant{}, `,"action":"ROLLBACK"`, ""},
		"an administrator":              {accesskey.RoleAdmin, accesskey.Grant{}, "", ""},
	} {
		f, rollout := pausedWeb(t, powers)
		if got := f.asKey(c.role, c.grant, "", "ContinueServiceDeployment", answering(rollout, "ecs-pause-h", c.body)); errorType(got.err) != c.want {
			t.Errorf("%s: %v", name, got.err)
		}
	}
	f, rollout := pausedWeb(t, powers)
	if got := f.asKey(accesskey.RoleSubmit, accesskey.Grant{}, "lab", "ContinueServiceDeployment", answering(rollout, "ecs-pause-h", "")); errorType(got.err) != wire.AccessDenied {
		t.Errorf("a key for another cluster: %v", got.err)
	}
	one := 1
	f = ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":1,"deploymentConfiguration":{`+hooks+`}}`)
	f.pauseWeb(t)
	got := f.asKey(accesskey.RoleSubmit, accesskey.Grant{MaxGPUs: &one}, "", "ContinueServiceDeployment", answering(f.web(t).CurrentServiceDeployment, "ecs-pause-h", ""))
	if errorType(got.err) != wire.AccessDenied {
		t.Errorf("a key with limits, of a service of others: %v", got.err)
	}
}

func TestLifecycleHooksAreHeldToWhatThereIs(t *testing.T) {
	f := ready(t)
	hook := func(members string) string { return `"lifecycleHooks":[{` + members + `}]` }
	pause := func(stage, more string) string {
		return hook(`"targetType":"PAUSE","lifecycleStages":["` + stage + `"]` + more)
	}
	for configuration, want := range map[string]string{
		hook(`"lifecycleStages":["PRE_SCALE_UP"]`):                                                         "there is no Lambda here",
		hook(`"targetType":"AWS_LAMBDA","lifecycleStages":["PRE_SCALE_UP"]`):                               "there is no Lambda here",
		hook(`"hookTargetArn":"arn:aws:lambda:us-east-1:1:function:f","lifecycleStages":["PRE_SCALE_UP"]`): "hookTargetArn",
		pause("PRE_SCALE_UP", `,"roleArn":"arn:aws:iam::1:role/x"`):                                        "roleArn",
		pause("PRE_SCALE_UP", `,"hookDetails":{"a":1}`):                                                    "hookDetails",
		hook(`"targetType":"PAUSE"`):                                                                       "lifecycleStages must have 1 to 6 stages",
		pause("LUNCH", ""):                                                                                 "must hold only",
		pause(`PRE_SCALE_UP","PRE_SCALE_UP`, ""):                                                           "is there twice",
		`"strategy":"BLUE_GREEN",` + pause("TEST_TRAFFIC_SHIFT", ""):                                       "BLUE_GREEN cannot be paused at TEST_TRAFFIC_SHIFT",
		`"strategy":"BLUE_GREEN",` + pause("PRODUCTION_TRAFFIC_SHIFT", ""):                                 "cannot be paused at PRODUCTION_TRAFFIC_SHIFT",
		pause("POST_TEST_TRAFFIC_SHIFT", ""):                                                               "ROLLING cannot be paused at POST_TEST_TRAFFIC_SHIFT",
		pause("PRE_SCALE_UP", `,"timeoutConfiguration":{"timeoutInMinutes":0}`):                            "between 1 and 20160",
		pause("PRE_SCALE_UP", `,"timeoutConfiguration":{"timeoutInMinutes":20161}`):                        "between 1 and 20160",
		pause("PRE_SCALE_UP", `,"timeoutConfiguration":{"action":"WAIT"}`):                                 "timeoutConfiguration.action",
		`"lifecycleHooks":[` + strings.Repeat(`{},`, 10) + `{}]`:                                           "10 lifecycle hooks, not 11",
	} {
		if got := f.call("CreateService", `{`+serving+`,"desiredCount":1,"deploymentConfiguration":{`+configuration+`}}`); got.err == nil || !strings.Contains(got.err.Error(), want) {
			t.Errorf("%s: %v", configuration, got.err)
		}
	}
	if got := f.call("CreateService", `{`+serving+`,"schedulingStrategy":"DAEMON","deploymentConfiguration":{`+pause("PRE_SCALE_UP", "")+`}}`); got.err == nil || !strings.Contains(got.err.Error(), "daemon") {
		t.Errorf("a DAEMON: %v", got.err)
	}
}

// Hooks stay with a service until they are changed, and a strategy that could not wait for them is refused.
func TestHooksStayUntilTheyAreRemoved(t *testing.T) {
	f := withRule(t)
	f.must(t, "CreateService", `{"serviceName":"web","taskDefinition":"served","desiredCount":1,`+shiftedBy(ruleARN+"r")+
		`,"deploymentConfiguration":{"strategy":"BLUE_GREEN","lifecycleHooks":[{"targetType":"PAUSE","lifecycleStages":["POST_TEST_TRAFFIC_SHIFT"]}]}}`)
	had := func() int { return len(f.state.View().Service(spec.DefaultCluster, "web").Settings.Deployment.Hooks) }
	f.must(t, "UpdateService", `{"service":"web","deploymentConfiguration":{"strategy":"CANARY"}}`)
	if had() != 1 {
		t.Error("another strategy has removed the hook")
	}
	if got := f.call("UpdateService", `{"service":"web","deploymentConfiguration":{"strategy":"ROLLING"}}`); got.err == nil || !strings.Contains(got.err.Error(), "cannot be paused at POST_TEST_TRAFFIC_SHIFT") {
		t.Errorf("%v", got.err)
	}
	f.must(t, "UpdateService", `{"service":"web","deploymentConfiguration":{"strategy":"ROLLING","lifecycleHooks":[]}}`)
	if had() != 0 {
		t.Error("an empty list has not removed the hook")
	}
}
