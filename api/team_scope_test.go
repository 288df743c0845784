package api

import (
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// A key for one team tries everything that shows tasks which the state knows, in a cluster that both teams use.
func TestAKeyForOneTeamSeesTheTasksOfThatOneAlone(t *testing.T) {
	b := withEvents(ready(t))
	b.config.Queue = &fakeQueue{items: []spec.QueueItem{{TaskID: "a1", Group: "theirs-group", Team: "theirs"}, {TaskID: "a2", Group: "mine-group", Team: "mine"}}}
	ids := map[string]string{}
	for _, team := range []string{"mine", "theirs"} {
		arn := b.run(t, `{"taskDefinition":"tensorflow-1-gpu","startedBy":"`+team+`-secret","tags":[{"key":"pinion.team","value":"`+team+`"}]}`).Tasks[0].ARN
		ids[team] = arn[strings.LastIndex(arn, "/")+1:]
		b.must(t, "CreateService", `{"serviceName":"`+team+`-service","taskDefinition":"tensorflow-1-gpu","desiredCount":1,"tags":[{"key":"pinion.team","value":"`+team+`"}]}`)
	}
	for _, team := range []string{"mine", "theirs"} { // a hook of each service waits
		of := b.state.View().Service(spec.DefaultCluster, team+"-service")
		paused := *b.state.View().ServiceRollout(of.Primary().Rollout)
		paused.Configuration.Hooks = []service.Hook{{Stages: []service.Stage{service.StagePreScaleUp}}}
		step := raftfsm.StepService{ServiceID: of.ID, Version: of.Version, Service: *of, Rollouts: []service.Rollout{*paused.Pause(service.StagePreScaleUp, func() string { return team }, epoch)}}
		if _, err := b.Propose(t.Context(), step); err != nil {
			t.Fatal(err)
		}
	}
	bearer := b.withKey(t, accesskey.Key{ID: "AKIATEAM", Role: accesskey.RoleSubmit, Grant: accesskey.Grant{Teams: []string{"mine"}}})
	for _, path := range []string{"/v1/tasks", "/v1/tasks/ID/logs", "/v1/tasks/ID/pulls", "/v1/tasks/ID/explain", "/v1/tasks?stale=true", "/v1/queue", "/v1/gpus", "/v1/events?follow=false", "/v1/events?follow=false&task=ID"} {
		theirs := b.as(bearer, httptest.NewRequest("GET", strings.ReplaceAll(path, "ID", ids["theirs"]), nil)).Body.String()
		if strings.Contains(theirs, "theirs") && !strings.Contains(theirs, "AccessDenied") {
			t.Errorf("%s shows a task of another team: %s", path, theirs)
		}
		if mine := b.as(bearer, httptest.NewRequest("GET", strings.ReplaceAll(path, "ID", ids["mine"]), nil)); strings.Contains(mine.Body.String(), "AccessDenied") {
			t.Errorf("%s of its own: %s", path, mine.Body)
		}
	}
	if got := b.as(bearer, httptest.NewRequest("GET", "/v1/events?type=hook&follow=false", nil)).Body.String(); !strings.Contains(got, "ecs-pause-mine") || strings.Contains(got, "theirs") {
		t.Errorf("hooks of its services alone: %s", got)
	}
	arn := "arn:aws:ecs:us-east-1:" + spec.AccountID + ":task/default/"
	for operation, body := range map[string]string{
		"DescribeTasks": `{"tasks":["ID"],"include":["TAGS"]}`, "ListTasks": `{}`, "ListTagsForResource": `{"resourceArn":"` + arn + `ID"}`,
	} {
		theirs := b.as(bearer, restRequest(operation, strings.ReplaceAll(body, "ID", ids["theirs"]))).Body.String()
		if strings.Contains(theirs, "theirs") || operation == "ListTasks" && strings.Contains(theirs, ids["theirs"]) {
			t.Errorf("%s shows a task of another team: %s", operation, theirs)
		}
		if mine := b.as(bearer, restRequest(operation, strings.ReplaceAll(body, "ID", ids["mine"]))); mine.Code != 200 || !strings.Contains(mine.Body.String(), ids["mine"]) && !strings.Contains(mine.Body.String(), "mine") {
			t.Errorf("%s of its own: %d %s", operation, mine.Code, mine.Body)
		}
	}
}
