// Package metric has the measurements of tasks that hosts report to the leader, which keeps it in memory: it is in no log entry.
package metric

import (
	"maps"
	"slices"
	"strings"
)

// Name is a metric that services can be scaled by. It is the name in the namespace Pinion, too.
type Name string

// CPU and Memory are what a task uses. Hosts report it in CPU units and MiB, and the leader takes it by what the task has reserved, in percent.
const (
	CPU    Name = "CPUUtilization"
	Memory Name = "MemoryUtilization"
)

// GPU is for how much of the time the GPUs of a task compute, on average over them, in percent.
const GPU Name = "GPUUtilization"

// InFlight and Requests are what the proxies of all hosts send to a task: how many requests it has to answer on average, and how many it has
// answered in a minute. Of a target group (see Of) they are what is sent to the task as a target of it.
const (
	InFlight Name = "RequestsInFlight"
	Requests Name = "RequestCountPerTarget"
)

// Exported is a metric of Prometheus that a container of a task exports; see Of.
const Exported Name = "Exported"

// QueueDepth is the tasks of the cluster that wait for a place, but for those of services. The leader counts them.
const QueueDepth Name = "QueueDepth"

// WithPart returns the name of the part of a metric, such as the requests of one target group.
func (n Name) WithPart(part string) Name { return n + "/" + Name(part) }

// whole is the metric of which the name is a part, or itself.
func (n Name) whole() Name {
	whole, _, _ := strings.Cut(string(n), "/")
	return Name(whole)
}

// Part is the part of Of, empty of the whole metric.
func (n Name) Part() string {
	_, part, _ := strings.Cut(string(n), "/")
	return part
}

// IsExported reports whether containers export the metric; Part is its name there.
func (n Name) IsExported() bool { return n.whole() == Exported }

// OfHosts reports whether the host of a task has to measure the metric.
func (n Name) OfHosts() bool { return n == CPU || n == Memory || n == GPU || n.IsExported() }

// OfProxies reports whether the proxies of all hosts have to measure the metric.
func (n Name) OfProxies() bool { return n.whole() == InFlight || n.whole() == Requests }

// OfRequests reports whether the metric counts the requests of a minute.
func (n Name) OfRequests() bool { return n.whole() == Requests }

// words are the words for each, per replica.
var words = map[Name]string{
	CPU: "CPU utilization in percent", Memory: "memory utilization in percent", GPU: "GPU utilization in percent",
	InFlight: "requests in flight per replica", Requests: "requests a minute per replica",
	QueueDepth: "waiting tasks of the cluster per replica",
}

// Words returns the words for a metric in a sentence, none when it is not known.
func (n Name) Words() string {
	if n.IsExported() {
		return n.Part() + " per replica"
	}
	return words[n.whole()]
}

// Names lists all metrics.
func Names() []Name { return slices.Sorted(maps.Keys(words)) }

// MaxReported bounds the measures in one report of a host.
const MaxReported = 20_000

// Report is a host's newest measurements of tasks.
type Report struct {
	Tasks   []Task    `json:"tasks,omitempty"`
	Waiting []Waiting `json:"waiting,omitempty"`
	Proxy   bool      `json:"proxy,omitempty"` // what the host's proxy sends is there: a task that is left out gets nothing from it
}

// Task is one measure of a task. Several hosts may each know a part of it, such as the requests that their proxies have sent there.
type Task struct {
	TaskID string  `json:"task"`
	Name   Name    `json:"name"`
	Value  float64 `json:"value"`
	Group  string  `json:"group,omitempty"` // target group, of InFlight and Requests
}

// Waiting are requests that a host's proxy holds because no target of the group serves them.
type Waiting struct {
	Group    string `json:"group"`
	Requests int    `json:"requests"`
}

// Selection is the list of series that a host is to measure.
type Selection struct {
	Tasks []SelectedTask `json:"tasks,omitempty"` // that run here
	Proxy bool           `json:"proxy,omitempty"` // what its proxy sends
}

// SelectedTask is a task whose use of its host is measured.
type SelectedTask struct {
	ID   string   `json:"id"`
	GPUs []string `json:"gpus,omitempty"` // UUIDs; empty: their utilization is not asked for

	Export *Export `json:"export,omitempty"` // nil: what it exports is not asked for
}

// Export is the endpoint on its host at which a task exports metrics of Prometheus, and the wanted ones of them.
type Export struct {
	Port  int      `json:"port"`
	Path  string   `json:"path"`
	Names []string `json:"names"`
	// Address is that of a task that has one of its own; empty: the host's.
	Address string `json:"address,omitempty"`
}
