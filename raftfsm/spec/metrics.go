package spec

// MaxMetrics bounds the measures in one report of a host.
const MaxMetrics = 20_000

// MetricsReport is what a host has measured of tasks just now, for the leader's memory: it is in no log entry.
type MetricsReport struct {
	Tasks   []TaskMetric      `json:"tasks,omitempty"`
	Waiting []WaitingRequests `json:"waiting,omitempty"`
}

// TaskMetric is one measure of a task. Several hosts may each know a part of it, such as the requests that their proxies have sent there.
type TaskMetric struct {
	TaskID string  `json:"task"`
	Name   string  `json:"name"` // a scaling.Source
	Value  float64 `json:"value"`
}

// WaitingRequests are requests that a host's proxy holds because no task of the service serves them.
type WaitingRequests struct {
	ServiceID string `json:"service"`
	Requests  int    `json:"requests"`
}
