package service

// Progress is how far a service has got with its deployments: what its rollout knows of the tasks and ECS does not tell.
type Progress struct {
	Cluster     string               `json:"cluster"`
	Service     string               `json:"service"`
	Deployments []DeploymentProgress `json:"deployments"` // as Service.Deployments
}

// DeploymentProgress is how the tasks of one deployment are.
type DeploymentProgress struct {
	ID      string `json:"id"`      // DeploymentName
	Healthy int    `json:"healthy"` // tasks that a rollout counts as healthy, and that were not asked to stop

	// RequestPercent is the part of the requests to the service that go to its tasks: while traffic is moved, as the listener's rule divides it,
	// and otherwise as many as its part of the tasks that get any. nil when none does, and of a task set, whose part is the user's.
	RequestPercent *float64 `json:"requestPercent,omitempty"`
}
