// Package metric is what hosts measure of tasks and report to the leader, which keeps it in memory: it is in no log entry.
package metric

import (
	"maps"
	"slices"
)

// Name is a metric that services can be scaled by. It is the name in the namespace Pinion, too.
type Name string

// CPU and Memory are what a task uses. Hosts report it in CPU units and MiB, and the leader takes it by what the task has reserved, in percent.
const (
	CPU    Name = "CPUUtilization"
	Memory Name = "MemoryUtilization"
)

// OfHosts reports whether hosts have to measure the metric.
func (n Name) OfHosts() bool { return n == CPU || n == Memory }

// QueueDepth is the tasks of the cluster that wait for a place, but for those of services. The leader counts them.
const QueueDepth Name = "QueueDepth"

// words are what is said of each, per replica.
var words = map[Name]string{
	CPU: "CPU utilization in percent", Memory: "memory utilization in percent",
	QueueDepth: "waiting tasks of the cluster per replica",
}

// Words is what a metric is in a sentence, empty when it is not known.
func (n Name) Words() string { return words[n] }

// Names lists all metrics.
func Names() []Name { return slices.Sorted(maps.Keys(words)) }

// MaxReported bounds the measures in one report of a host.
const MaxReported = 20_000

// Report is what a host has measured of tasks just now.
type Report struct {
	Tasks   []Task    `json:"tasks,omitempty"`
	Waiting []Waiting `json:"waiting,omitempty"`
}

// Task is one measure of a task. Several hosts may each know a part of it, such as the requests that their proxies have sent there.
type Task struct {
	TaskID string  `json:"task"`
	Name   Name    `json:"name"`
	Value  float64 `json:"value"`
}

// Waiting are requests that a host's proxy holds because no task of the service serves them.
type Waiting struct {
	ServiceID string `json:"service"`
	Requests  int    `json:"requests"`
}
