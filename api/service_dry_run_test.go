package api

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
)

// fakePlanner is the Rollouts of a test: it tells what the service of the fork is to be, and that it has made no progress.
type fakePlanner struct{}

func (fakePlanner) ServiceProgress(_ *raftfsm.View, s *service.Service) (service.Progress, error) {
	return service.Progress{Cluster: s.Cluster, Service: s.Name, Deployments: []service.DeploymentProgress{{ID: service.DeploymentName(s.Primary().ID)}}}, nil
}

func (fakePlanner) DryRunService(_ context.Context, fork *raftfsm.State, cluster, name string) (service.DryRun, error) {
	s := fork.View().Service(cluster, name)
	return service.DryRun{Cluster: cluster, Service: name, Definition: s.Primary().Definition, Desired: s.Desired}, nil
}

const definitionOfTest = `{"family":"web","containerDefinitions":[{"name":"main","image":"busybox","memory":64}]}`

// An update is checked and carried out as UpdateService would, in a fork of the state: the state stays as it is.
func TestADryRunChangesNothing(t *testing.T) {
	b := newFixture(t)
	b.config.Services = fakePlanner{}
	for _, call := range [][2]string{{"RegisterTaskDefinition", definitionOfTest}, {"CreateService", `{"serviceName":"web","taskDefinition":"web","desiredCount":2}`}} {
		if got := b.rest(call[0], call[1]); got.Code != 200 {
			t.Fatalf("%s: %s", call[0], got.Body)
		}
	}
	before := b.state.View()
	got := b.rest("services/plan", `{"definition":`+definitionOfTest+`,"update":{"service":"web","desiredCount":5}}`)
	if got.Code != 200 || !strings.Contains(got.Body.String(), `"definition":"web:2","desiredCount":5`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if b.state.View() != before {
		t.Error("the plan has changed the state")
	}
	for body, why := range map[string]string{
		`{"update":{"service":"other"}}`:                                  "Service not found",
		`{"update":{"service":"web","desiredCount":-1}}`:                  "between 0 and 5000",
		`{"definition":{"family":"web"},"update":{"service":"web"}}`:      "ontainer",
		`{"update":{"service":"web","desired":1}}`:                        "desired",
		`{"update":{"service":"web","cluster":"none"},"definition":null}`: "Cluster",
	} {
		if got := b.rest("services/plan", body); got.Code < 400 || !strings.Contains(got.Body.String(), why) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
}

// The progress of a service is for those who see it: one of another team, or none at all, is not there.
func TestTheProgressOfAServiceIsForThoseWhoSeeIt(t *testing.T) {
	b := newFixture(t)
	b.config.Services = fakePlanner{}
	b.must(t, "RegisterTaskDefinition", definitionOfTest)
	b.must(t, "CreateService", `{"serviceName":"web","taskDefinition":"web","desiredCount":2,"tags":[{"key":"pinion.team","value":"vision"}]}`)
	vision := b.withKey(t, accesskey.Key{ID: "AKIAVISION", Role: accesskey.RoleRead, Grant: accesskey.Grant{Teams: []string{"vision"}}})
	speech := b.withKey(t, accesskey.Key{ID: "AKIASPEECH", Role: accesskey.RoleRead, Grant: accesskey.Grant{Teams: []string{"speech"}}})
	for _, c := range []struct {
		name, key, query string
		status           int
		says             string
	}{
		{"its team", vision, "cluster=default&service=web", 200, `"id":"ecs-svc/`},
		{"its team, in the default cluster", vision, "service=web", 200, `"cluster":"default","service":"web"`},
		{"another team", speech, "service=web", 400, "ServiceNotFoundException"},
		{"another cluster", vision, "cluster=lab&service=web", 400, "ServiceNotFoundException"},
		{"no service", vision, "cluster=default", 400, "ServiceNotFoundException"},
	} {
		if got := b.as(c.key, httptest.NewRequest("GET", "/v1/services/progress?"+c.query, nil)); got.Code != c.status || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s: %d %s", c.name, got.Code, got.Body)
		}
	}
}
