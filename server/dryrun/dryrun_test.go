package dryrun_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/dryrun"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// pool is a state with hosts of four GPUs each, and a service web.
type pool struct {
	*testing.T
	*raftfsm.State
}

func (p *pool) do(c raftfsm.Command) {
	p.Helper()
	if _, err := p.Apply(p.View().Index()+1, c); err != nil {
		p.Fatalf("%T: %v", c, err)
	}
}

// newPool has the service web run, whose tasks take a GPU each.
func newPool(t *testing.T, hosts, desired int, settings service.Settings) *pool {
	p := &pool{t, raftfsm.NewState()}
	p.do(raftfsm.CreatePool{Pool: spec.Pool{ID: "pool", CreatedAt: epoch}})
	for i := range hosts {
		host := spec.Host{ID: fmt.Sprintf("%032x", i), Name: fmt.Sprint("gpu-", i), Cluster: spec.DefaultCluster, Address: "h:7400", CPU: 99999, MemoryMiB: 99999, RegisteredAt: epoch}
		for g := range 4 {
			host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{UUID: fmt.Sprintf("%d-%d", i, g), Index: g, Health: gpu.Healthy})
		}
		p.do(raftfsm.PutHost{Host: host})
	}
	for _, gpus := range []string{"1", "1", "8"} {
		main := spec.ContainerDefinition{Name: "main", Image: "busybox", Memory: 1, ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: gpus}}}
		main.HealthCheck = &spec.HealthCheck{Command: []string{"CMD", "true"}}
		p.do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "web", RegisteredAt: epoch, Containers: []spec.ContainerDefinition{main}}})
	}
	web := service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web", Strategy: service.Replica, Desired: desired, Settings: settings, CreatedAt: epoch}
	p.do(raftfsm.CreateService{Service: web, Revision: service.Revision{ID: "1", Definition: "web:1"}, Rollout: service.Rollout{ID: "1", CreatedAt: epoch}})
	if first := p.dryRun(p.State); !first.Completes || len(first.Moves) != desired || first.StopFirst {
		t.Fatalf("the first rollout: %+v", first)
	}
	return p
}

// dryRun has the rollout carried out on a state.
func (p *pool) dryRun(on *raftfsm.State) service.DryRun {
	p.Helper()
	result, err := dryrun.Run(p.Context(), on, spec.DefaultCluster, "web", epoch, func(string) bool { return true })
	if err != nil {
		p.Fatal(err)
	}
	return result
}

// deploy plans a rollout to a definition, which is not carried out.
func (p *pool) deploy(definition string) service.DryRun {
	p.Helper()
	before := p.View()
	on := &pool{p.T, raftfsm.Fork(before)}
	change := service.Change{Revision: &service.Revision{ID: "2", Definition: definition}, Rollout: &service.Rollout{ID: "2", CreatedAt: epoch}}
	on.do(raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: "web", Change: change, At: epoch})
	result := on.dryRun(on.State)
	if p.View() != before || p.View().Service(spec.DefaultCluster, "web").Primary().Definition != "web:1" {
		p.Error("the plan has changed the state that it was made for")
	}
	return result
}

func percents(healthy, most int) (s service.Settings) {
	s.Deployment.MinimumHealthyPercent, s.Deployment.MaximumPercent = &healthy, &most
	return s
}

// moves are those of a plan in short: "stop gpu-0 7" leaves seven healthy tasks.
func moves(p service.DryRun) (all []string) {
	for _, m := range p.Moves {
		all = append(all, fmt.Sprint(m.Action, " ", m.Host, " ", m.Healthy))
	}
	return all
}

func TestARolloutWithRoomStartsFirst(t *testing.T) {
	result := newPool(t, 2, 2, service.Settings{}).deploy("web:2")
	if !result.Completes || result.StopFirst || result.LeastHealthy != 2 || result.Definition != "web:2" || len(result.Moves) != 4 ||
		result.Moves[0].Action != service.MoveStart || result.Moves[0].Task != "new 1" || result.Moves[3].Action != service.MoveStop {
		t.Errorf("%+v", result)
	}
}

// On eight of eight GPUs one old task at a time makes room for a new one.
func TestARolloutWithoutRoomStopsFirst(t *testing.T) {
	result := newPool(t, 2, 8, service.Settings{}).deploy("web:2")
	if !result.Completes || !result.StopFirst || result.Healthy != 8 || result.LeastHealthy != 7 || len(result.Moves) != 16 || !strings.Contains(result.Why, "GPU") {
		t.Fatalf("%+v", result)
	}
	for i, m := range result.Moves {
		before := result.Moves[max(0, i-1)]
		if want := []service.MoveAction{service.MoveStop, service.MoveStart}[i%2]; m.Action != want || m.Action == service.MoveStart && m.Host != before.Host {
			t.Fatalf("move %d: %v", i, moves(result))
		}
	}
}

func TestMaximumPercentIsAReasonToStopFirst(t *testing.T) {
	result := newPool(t, 4, 4, percents(50, 100)).deploy("web:2")
	if !result.Completes || !result.StopFirst || result.LeastHealthy != 2 || !strings.Contains(result.Why, "maximumPercent lets the service have 4 tasks") {
		t.Errorf("%+v", result)
	}
}

// What cannot go on says so: a rollout that may stop nothing, and a definition that no host could run, for which nothing is stopped.
func TestADryRunSaysWhatARolloutWaitsFor(t *testing.T) {
	for definition, why := range map[string]string{"web:2": "waits for room", "web:3": "unable to place"} {
		settings := service.Settings{}
		if definition == "web:2" {
			settings = percents(100, 200)
		}
		result := newPool(t, 2, 8, settings).deploy(definition)
		stops := slices.ContainsFunc(result.Moves, func(m service.Move) bool { return m.Action == service.MoveStop })
		if result.Completes || stops || result.LeastHealthy != 8 || !strings.Contains(result.WaitsFor, why) {
			t.Errorf("%s: %+v", definition, result)
		}
	}
}

// A plan supposes that whoever is asked has the rollout go on, and says where it asks.
func TestADryRunGoesOnFromPauses(t *testing.T) {
	settings := percents(100, 200)
	settings.Deployment.Strategy, settings.Deployment.Hooks = service.Linear, []service.Hook{{Stages: []service.Stage{service.StagePreScaleUp, service.StagePreProduction}}}
	settings.Deployment.Steps = &service.Steps{PerMille: 500, BakeMinutes: 60}
	result := newPool(t, 2, 2, settings).deploy("web:2")
	want := []service.Stage{service.StagePreScaleUp, service.StagePreProduction, service.StagePreProduction}
	if !result.Completes || !slices.Equal(result.Pauses, want) || len(result.Moves) != 4 {
		t.Errorf("%+v", result)
	}
}

func TestThereIsNoDryRunOfAServiceThatIsNotThere(t *testing.T) {
	_, err := dryrun.Run(t.Context(), raftfsm.NewState(), "default", "web", epoch, nil)
	if !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
