package view

import (
	"time"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
)

// pauseHook is the target type of lifecycle hooks, of which there are no others here.
const pauseHook = "PAUSE"

// percent is thousandths of the traffic of a service, as ECS shows them.
func percent(perMille int) float64 { return float64(perMille) / 10 }

// deploymentConfiguration fills in what a service has not said, as ECS shows it.
func deploymentConfiguration(d *service.DeploymentConfiguration, of service.Strategy) *types.DeploymentConfiguration {
	healthy, most := d.Percents(of)
	bake := int(d.BakeTime() / time.Minute)
	out := &types.DeploymentConfiguration{
		MinimumHealthyPercent: &healthy, MaximumPercent: &most, Strategy: d.StrategyName(), BakeTimeInMinutes: &bake, DeploymentCircuitBreaker: &types.DeploymentCircuitBreaker{},
	}
	switch steps := d.TrafficSteps(); d.StrategyName() {
	case service.Linear:
		out.LinearConfiguration = &types.LinearConfiguration{StepPercent: percent(steps.PerMille), StepBakeTimeInMinutes: steps.BakeMinutes}
	case service.Canary:
		out.CanaryConfiguration = &types.CanaryConfiguration{CanaryPercent: percent(steps.PerMille), CanaryBakeTimeInMinutes: steps.BakeMinutes}
	}
	for _, hook := range d.Hooks {
		out.LifecycleHooks = append(out.LifecycleHooks, lifecycleHook(&hook))
	}
	if b := d.Breaker; b != nil {
		out.DeploymentCircuitBreaker = &types.DeploymentCircuitBreaker{Enable: b.Enable, Rollback: b.Rollback, ResetOnHealthyTask: b.ResetOnHealth}
		if b.Threshold != nil {
			out.DeploymentCircuitBreaker.ThresholdConfiguration = &types.ThresholdConfiguration{Type: b.Threshold.Type, Value: b.Threshold.Value}
		}
	}
	return out
}

func lifecycleHook(h *service.Hook) types.DeploymentLifecycleHook {
	out := types.DeploymentLifecycleHook{TargetType: pauseHook}
	for _, stage := range h.Stages {
		out.LifecycleStages = append(out.LifecycleStages, string(stage))
	}
	if t := h.Timeout; t != nil {
		out.TimeoutConfiguration = &types.DeploymentLifecycleHookTimeoutConfiguration{TimeoutInMinutes: t.Minutes, Action: string(t.Action)}
	}
	return out
}

// hookDetails are the hooks that have paused a rollout last.
func hookDetails(d *service.Rollout) (all []types.DeploymentLifecycleHookDetail) {
	for _, p := range d.Pauses {
		all = append(all, types.DeploymentLifecycleHookDetail{
			HookID: p.ID, TargetType: pauseHook, Status: string(p.Status), ExpiresAt: wire.NewTime(p.ExpiresAt), TimeoutAction: string(p.Action),
		})
	}
	return all
}

// advanced is what moves the traffic of a load balancer, nil when nothing does.
func advanced(a *service.Advanced) *types.AdvancedConfiguration {
	if a.Group == "" {
		return nil
	}
	return &types.AdvancedConfiguration{AlternateTargetGroupARN: a.AlternateARN, ProductionListenerRule: a.ProductionRule, TestListenerRule: a.TestRule, RoleARN: a.RoleARN}
}

// lifecycle shows how far a rollout that is under way has moved the traffic of its service: its stage, and the share of each revision.
func (v *Services) lifecycle(d *service.Rollout, out *types.ServiceDeployment) {
	s := v.r.View.ServiceByID(d.ServiceID)
	if s == nil || d.IsFinished() || s.Primary().Rollout != d.ID {
		return
	}
	if !d.Configuration.Shifts() { // it has stages where it is paused alone
		if d.Paused() {
			out.LifecycleStage = string(d.Pauses[0].Stage)
		}
		return
	}
	if out.LifecycleStage = string(service.StageCleanUp); s.Shift.Stage != "" {
		out.LifecycleStage = string(s.Shift.Stage)
	}
	production, test := percent(service.AllTraffic), percent(service.AllTraffic)
	if s.Shift.IsOn() {
		if production = percent(s.Shift.PerMille); !s.Shift.Tests() {
			test = 0
		}
	}
	if s.Primary().ID != d.Target.Revision { // it is rolled back
		production, test = 100-production, 100-test
	}
	out.TargetServiceRevision.RequestedProductionTrafficWeight, out.TargetServiceRevision.RequestedTestTrafficWeight = &production, &test
}
