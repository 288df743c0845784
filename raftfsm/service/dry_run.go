package service

// DryRun is the list of a rollout's steps when each task that starts gets healthy and nothing else happens.
type DryRun struct {
	Cluster    string `json:"cluster"`
	Service    string `json:"service"`
	Definition string `json:"definition"` // that its tasks have in the end
	Desired    int    `json:"desiredCount"`

	Healthy      int    `json:"healthy"`            // tasks, before the first move
	LeastHealthy int    `json:"leastHealthy"`       // at any moment of it
	StopFirst    bool   `json:"stopFirst"`          // fewer are healthy meanwhile than before and wanted: old tasks stop before new ones are healthy
	Why          string `json:"why,omitempty"`      // of StopFirst
	Completes    bool   `json:"completes"`          // it ends with what is wanted
	WaitsFor     string `json:"waitsFor,omitempty"` // what it waits for when it does not
	Queued       int    `json:"queued,omitempty"`   // other tasks that wait in the cluster's queue: they may take room before it

	Moves  []Move  `json:"moves"`            // in their order
	Pauses []Stage `json:"pauses,omitempty"` // at which it waits for an answer, each as often as it does
}

// Move is one task that starts, or stops.
type Move struct {
	Action     MoveAction `json:"action"`
	Task       string     `json:"task"` // its id; "new 1" and so on for those that are not there yet
	Definition string     `json:"definition"`
	Host       string     `json:"host"` // its name
	GPUs       int        `json:"gpus"`
	Healthy    int        `json:"healthy"` // tasks of the service that are left healthy
}

// MoveAction is the action of a Move.
type MoveAction string

// Actions of moves.
const (
	MoveStart MoveAction = "start"
	MoveStop  MoveAction = "stop"
)
