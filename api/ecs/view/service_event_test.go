package view

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Of services the stream of events has what EventBridge has: actions, and states of deployments.
func TestEventsOfServicesAreThoseOfECS(t *testing.T) {
	state, at := raftfsm.NewState(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	web := service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web"}
	commands := []raftfsm.Command{
		raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c"}}}},
		raftfsm.CreateService{Service: web, Revision: service.Revision{ID: "1", Definition: "f:1"}, Rollout: service.Rollout{ID: "1", CreatedAt: at}},
		raftfsm.StepService{ServiceID: "svc", Version: 1, At: at, Service: service.Service{Deployments: []service.Deployment{{ID: "1", Status: service.Primary, State: service.Failed, Reason: "why"}}},
			Events: []service.Event{{ID: "e", At: at, Message: "(service web) has reached a steady state.", Action: service.ActionSteadyState}}},
	}
	for i, c := range commands {
		if _, err := state.ApplyAt(uint64(i+1), at, c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	changes, _, err := state.Changes(raftfsm.PositionAfter(2), 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, change := range changes {
		text, err := Event(change, state.View(), "local")
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			DetailType string `json:"detail-type"`
			Resources  []string
			Detail     struct{ EventType, EventName, Status string }
		}
		if err := json.Unmarshal(text, &e); err != nil || len(e.Resources) != 1 || e.Resources[0] != "arn:aws:ecs:local:"+spec.AccountID+":service/default/web" {
			t.Errorf("%s: %v", text, err)
		}
		got = append(got, e.DetailType+": "+e.Detail.EventType+e.Detail.Status+" "+e.Detail.EventName)
	}
	want := []string{
		"Pinion Service State Change: ACTIVE ", "ECS Deployment State Change: INFO SERVICE_DEPLOYMENT_IN_PROGRESS",
		"Pinion Service State Change: ACTIVE ", "ECS Service Action: INFO SERVICE_STEADY_STATE", "ECS Deployment State Change: ERROR SERVICE_DEPLOYMENT_FAILED",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
