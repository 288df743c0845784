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
	paused := service.Rollout{ID: "1", ServiceID: "svc", Cluster: spec.DefaultCluster, Service: "web", Status: service.RolloutInProgress, Target: service.RevisionCount{Revision: "1"}}
	paused.Configuration.Hooks = []service.Hook{{Stages: []service.Stage{service.StagePreScaleUp}}}
	web := service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web"}
	commands := []raftfsm.Command{
		raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c"}}}},
		raftfsm.CreateService{Service: web, Revision: service.Revision{ID: "1", Definition: "f:1"}, Rollout: service.Rollout{ID: "1", CreatedAt: at}},
		raftfsm.StepService{ServiceID: "svc", Version: 1, At: at, Service: service.Service{Deployments: []service.Deployment{{ID: "1", Status: service.Primary, State: service.Failed, Reason: "why"}}},
			Events: []service.Event{{ID: "e", At: at, Message: "(service web) has reached a steady state.", Action: service.ActionSteadyState}}},
		raftfsm.StepService{ServiceID: "svc", Version: 2, At: at, Service: service.Service{Deployments: []service.Deployment{{ID: "1", Rollout: "1", Status: service.Primary, State: service.InProgress}}},
			Rollouts: []service.Rollout{*paused.Pause(service.StagePreScaleUp, func() string { return "a" }, at)}},
		raftfsm.ContinueService{Cluster: spec.DefaultCluster, Name: "web", Rollout: "1", Hook: "ecs-pause-a", Action: service.HookContinue, EventID: "f", At: at},
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
			Detail     struct{ EventType, EventName, Status, HookID, LifecycleStage string }
		}
		of := ":service/default/web"
		if change.Kind == raftfsm.HookChange {
			of = ":service-deployment/default/web/1"
		}
		if err := json.Unmarshal(text, &e); err != nil || len(e.Resources) != 1 || e.Resources[0] != "arn:aws:ecs:local:"+spec.AccountID+of {
			t.Errorf("%s: %v", text, err)
		}
		got = append(got, e.DetailType+": "+e.Detail.EventType+e.Detail.Status+" "+e.Detail.EventName+e.Detail.HookID+e.Detail.LifecycleStage)
	}
	want := []string{
		"Pinion Service State Change: ACTIVE ", "ECS Deployment State Change: INFO SERVICE_DEPLOYMENT_IN_PROGRESS",
		"Pinion Service State Change: ACTIVE ", "ECS Service Action: INFO SERVICE_STEADY_STATE", "ECS Deployment State Change: ERROR SERVICE_DEPLOYMENT_FAILED",
		"ECS Hook State Change: INFO HOOK_AWAITING_ACTIONecs-pause-aPRE_SCALE_UP", "Pinion Service State Change: ACTIVE ", "ECS Deployment State Change: INFO SERVICE_DEPLOYMENT_IN_PROGRESS",
		"ECS Hook State Change: INFO HOOK_SUCCEEDEDecs-pause-aPRE_SCALE_UP", "Pinion Service State Change: ACTIVE ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Events of a daemon are about the daemon, by its own name and ARN.
func TestEventsOfDaemonsNameThem(t *testing.T) {
	agent := &service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "daemon/agent", Strategy: service.Daemon, Status: service.Active}
	state := raftfsm.NewState()
	for _, object := range []any{agent, &service.EventChange{Service: agent}, &service.DeploymentChange{Service: agent}} {
		text, err := Event(&raftfsm.Change{Kind: raftfsm.ServiceChange, ClusterName: spec.DefaultCluster, Object: object}, state.View(), "local")
		var e struct {
			Resources []string
			Detail    struct{ ServiceName string }
		}
		if err == nil {
			err = json.Unmarshal(text, &e)
		}
		if err != nil || !slices.Equal(e.Resources, []string{"arn:aws:ecs:local:" + spec.AccountID + ":daemon/default/agent"}) || e.Detail.ServiceName != "" && e.Detail.ServiceName != "agent" {
			t.Errorf("%s: %v", text, err)
		}
	}
}
