package service

// Progress is the progress of a service with its deployments, as far as ECS does not tell it.
type Progress struct {
	Cluster     string               `json:"cluster"`
	Service     string               `json:"service"`
	Deployments []DeploymentProgress `json:"deployments"` // as Service.Deployments
}

// DeploymentProgress has the healthy tasks of one deployment, and its part of the requests.
type DeploymentProgress struct {
	ID      string `json:"id"`      // DeploymentName
	Healthy int    `json:"healthy"` // tasks that a rollout counts as healthy, and that were not asked to stop

	// RequestPercent is the part of the requests to the service that go to its tasks: while traffic is moved, as the listener's rule divides it,
	// and otherwise as many as its part of the tasks that get any. nil when none does, and of a task set, whose part is the user's.
	RequestPercent *float64 `json:"requestPercent,omitempty"`
}
