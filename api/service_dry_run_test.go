package api

import (
	"context"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
)

// fakePlanner is a ServiceDryRunner of a test: it tells what the service of the fork is to be.
type fakePlanner struct{}

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
