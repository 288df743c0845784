package view

import (
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// serviceDetail is what a change of a service says; DescribeServices says the rest.
type serviceDetail struct {
	ServiceARN   string    `json:"serviceArn"`
	ServiceName  string    `json:"serviceName"`
	ClusterARN   string    `json:"clusterArn"`
	Status       string    `json:"status"`
	DesiredCount int       `json:"desiredCount"`
	Version      int64     `json:"version"`
	UpdatedAt    wire.Time `json:"updatedAt,omitzero"`
}

// actionDetail is ECS's of a service action and of a change of a deployment's state.
type actionDetail struct {
	EventType    string    `json:"eventType"` // INFO, WARN or ERROR
	EventName    string    `json:"eventName"`
	ClusterARN   string    `json:"clusterArn,omitempty"`
	DeploymentID string    `json:"deploymentId,omitempty"`
	CreatedAt    wire.Time `json:"createdAt,omitzero"`
	UpdatedAt    wire.Time `json:"updatedAt,omitzero"`
	Reason       string    `json:"reason,omitempty"`
}

// hookDetail is ECS's of a lifecycle hook whose status has changed.
type hookDetail struct {
	EventType            string    `json:"eventType"`
	EventName            string    `json:"eventName"`
	HookID               string    `json:"hookId"`
	HookType             string    `json:"hookType"`
	ExpiresAt            wire.Time `json:"expiresAt,omitzero"`
	LifecycleStage       string    `json:"lifecycleStage"`
	ClusterARN           string    `json:"clusterArn"`
	ServiceARN           string    `json:"serviceArn"`
	ServiceDeploymentARN string    `json:"serviceDeploymentArn"`
	UpdatedAt            wire.Time `json:"updatedAt,omitzero"`
}

// Types of events, ECS's.
const (
	eventInfo  = "INFO"
	eventWarn  = "WARN"
	eventError = "ERROR"
)

// informs are the actions that need nobody to act.
var informs = []service.Action{
	service.ActionSteadyState, service.ActionTaskSetSteady, service.ActionRebalancing, service.ActionRebalanced, service.ActionRebalanceStopped,
	service.ActionTasksStarted, service.ActionTasksStopped, service.ActionTasksProtected,
}

// serviceDetail is the detail of a change of a service, an event of it, or a deployment, and the ARN of the service.
func (r *Renderer) serviceDetail(change *raftfsm.Change, at wire.Time) (detail any, serviceARN string) {
	switch o := change.Object.(type) {
	case *service.EventChange:
		detail := &actionDetail{EventType: eventWarn, EventName: string(o.Event.Action), ClusterARN: r.ClusterARN(o.Service.Cluster),
			CreatedAt: wire.NewTime(o.Event.At), Reason: o.Event.Message}
		if slices.Contains(informs, o.Event.Action) {
			detail.EventType = eventInfo
		}
		return detail, r.ServiceARN(o.Service.Cluster, o.Service.Name)
	case *service.DeploymentChange:
		detail := &actionDetail{EventType: eventInfo, EventName: "SERVICE_DEPLOYMENT_" + string(o.Deployment.State),
			DeploymentID: service.DeploymentName(o.Deployment.ID), UpdatedAt: at, Reason: o.Deployment.Reason}
		if o.Deployment.State == service.Failed {
			detail.EventType = eventError
		}
		return detail, r.ServiceARN(o.Service.Cluster, o.Service.Name)
	}
	s := change.Object.(*service.Service)
	arn := r.ServiceARN(s.Cluster, s.Name)
	return &serviceDetail{arn, strings.TrimPrefix(s.Name, spec.DaemonPrefix), r.ClusterARN(s.Cluster), string(s.Status), s.Desired, s.Version, at}, arn
}

// hookDetail is the detail of a pause of a rollout whose status has changed.
func (r *Renderer) hookDetail(c *service.HookChange, at wire.Time) *hookDetail {
	of := c.Rollout
	return &hookDetail{
		EventType: eventInfo, EventName: "HOOK_" + string(c.Pause.Status), HookID: c.Pause.ID, HookType: pauseHook, ExpiresAt: wire.NewTime(c.Pause.ExpiresAt),
		LifecycleStage: string(c.Pause.Stage), ClusterARN: r.ClusterARN(of.Cluster), ServiceARN: r.ServiceARN(of.Cluster, of.Service),
		ServiceDeploymentARN: r.serviceDeploymentARN(of.Cluster, of.Service, of.ID), UpdatedAt: at,
	}
}
