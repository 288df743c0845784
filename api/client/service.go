package client

import (
	"context"
	"slices"
)

// Service is an ECS service: the members that are read most.
type Service struct {
	ARN         string              `json:"serviceArn"`
	Name        string              `json:"serviceName"`
	Status      string              `json:"status"`
	Strategy    string              `json:"schedulingStrategy"`
	Desired     int                 `json:"desiredCount"`
	Running     int                 `json:"runningCount"`
	Pending     int                 `json:"pendingCount"`
	Definition  string              `json:"taskDefinition"`
	Rollout     string              `json:"currentServiceDeployment"` // its ARN
	Deployments []ServiceDeployment `json:"deployments"`              // the PRIMARY one first; none of one with task sets
	TaskSets    []TaskSet           `json:"taskSets"`                 // the newest first
	Events      []ServiceEvent      `json:"events"`                   // the newest first
	CreatedAt   Timestamp           `json:"createdAt"`
	Tags        []Tag               `json:"tags"` // where they were asked for
	Controller  struct {
		Type string `json:"type"`
	} `json:"deploymentController"`
}

// Tag is a tag of a resource.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// ServiceDeployment is the tasks of one revision of a service.
type ServiceDeployment struct {
	ID         string `json:"id"`
	Status     string `json:"status"` // PRIMARY, or ACTIVE while it is being replaced
	Definition string `json:"taskDefinition"`
	Desired    int    `json:"desiredCount"`
	Running    int    `json:"runningCount"`
	Pending    int    `json:"pendingCount"`
	Failed     int    `json:"failedTasks"`
	State      string `json:"rolloutState"` // IN_PROGRESS, COMPLETED or FAILED
	Reason     string `json:"rolloutStateReason"`
}

// TaskSet is tasks of one revision of a service whose deployment controller is EXTERNAL.
type TaskSet struct {
	ID         string `json:"id"`
	Status     string `json:"status"` // PRIMARY, ACTIVE or DRAINING
	Definition string `json:"taskDefinition"`
	Desired    int    `json:"computedDesiredCount"`
	Running    int    `json:"runningCount"`
	Pending    int    `json:"pendingCount"`
	Stability  string `json:"stabilityStatus"` // STEADY_STATE or STABILIZING
}

// ServiceEvent is something that happened to a service.
type ServiceEvent struct {
	ID        string    `json:"id"`
	CreatedAt Timestamp `json:"createdAt"`
	Message   string    `json:"message"`
}

// IsExternal reports whether somebody else makes the deployments of the service, which are task sets.
func (s *Service) IsExternal() bool { return s.Controller.Type == "EXTERNAL" }

// Primary is the deployment that the service is to be; nil of one that is INACTIVE, or EXTERNAL.
func (s *Service) Primary() *ServiceDeployment {
	if len(s.Deployments) == 0 {
		return nil
	}
	return &s.Deployments[0]
}

// Steady reports whether a service is as it is to be: one deployment, which is complete, with all of its tasks; or all of its task sets are steady.
func (s *Service) Steady() bool {
	if s.IsExternal() {
		return s.Status == "ACTIVE" && !slices.ContainsFunc(s.TaskSets, func(t TaskSet) bool { return t.Stability != "STEADY_STATE" })
	}
	p := s.Primary()
	return s.Status == "ACTIVE" && len(s.Deployments) == 1 && p.State == "COMPLETED" && s.Running == s.Desired && s.Pending == 0
}

// ServiceNames lists the services of a cluster that are ACTIVE, by name.
func ServiceNames(ctx context.Context, c *Client, cluster string) (names []string, err error) {
	for in := (map[string]any{"cluster": cluster, "maxResults": describeLimit}); ; {
		var page struct {
			ARNs []string `json:"serviceArns"`
			Next string   `json:"nextToken"`
		}
		if err := c.Call(ctx, "ListServices", in, &page); err != nil {
			return nil, err
		}
		for _, arn := range page.ARNs {
			names = append(names, ResourceID(arn))
		}
		if page.Next == "" {
			return names, nil
		}
		in["nextToken"] = page.Next
	}
}
