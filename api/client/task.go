package client

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Task is an ECS task: the members that are read most. Marshalled, it is the whole document as the host sent it.
type Task struct {
	ARN           string      `json:"taskArn"`
	Definition    string      `json:"taskDefinitionArn"`
	Group         string      `json:"group"`
	Instance      string      `json:"containerInstanceArn"` // empty while the task has no host
	Status        string      `json:"lastStatus"`
	Desired       string      `json:"desiredStatus"`
	StopCode      string      `json:"stopCode"`
	StoppedReason string      `json:"stoppedReason"`
	Containers    []Container `json:"containers"`
	CreatedAt     Timestamp   `json:"createdAt"`
	StartedAt     Timestamp   `json:"startedAt"` // zero: it never ran
	StoppedAt     Timestamp   `json:"stoppedAt"` // zero until it is STOPPED
	Attributes    []Attribute `json:"attributes"`
	Overrides     Overrides   `json:"overrides"`

	document json.RawMessage
}

// NetworkInterface is the connection of a task that has an address of its own.
type NetworkInterface struct {
	Address string `json:"privateIpv4Address"`
}

// Container is a container of a task.
type Container struct {
	Name     string   `json:"name"`
	Status   string   `json:"lastStatus"`
	ExitCode *int     `json:"exitCode"` // nil until it has ended
	Reason   string   `json:"reason"`
	GPUs     []string `json:"gpuIds"`
	Sharing  *sharing `json:"gpuSharingStrategy"` // nil: the GPUs are its own
	Image    string   `json:"image"`

	Bindings []NetworkBinding `json:"networkBindings"`

	NetworkInterfaces []NetworkInterface `json:"networkInterfaces"` // of a task with an address of its own: one

	PeakMemory int64 `json:"peakMemory"` // bytes that it used at most; 0 while it runs, and when that is not known

	GPUTotals *GPUTotals `json:"gpuTotals"` // nil: nothing was measured
}

// GPUTotals is how a container has used its GPUs, in the time in which its host has measured them.
type GPUTotals struct {
	MeasuredSeconds int64 `json:"measuredSeconds"` // GPU-seconds
	BusySeconds     int64 `json:"busySeconds"`     // of these, those in which something computed
	Joules          int64 `json:"joules"`          // of energy; 0: not known
	PeakMemoryMiB   int64 `json:"peakMemoryMiB"`   // of one GPU at most; 0: not known
}

// sharing is ECS's SharingStrategy.
type sharing struct {
	NvidiaMPS struct {
		MemoryMiB int64 `json:"memory"`
	} `json:"nvidiaMps"`
}

// NetworkBinding is a port of a container that is published on its host.
type NetworkBinding struct {
	ContainerPort int    `json:"containerPort"`
	HostPort      int    `json:"hostPort"`
	Protocol      string `json:"protocol"`
	// ContainerPortRange and HostPortRange are of a range of ports, "8000-8009", which has neither port.
	ContainerPortRange string `json:"containerPortRange"`
	HostPortRange      string `json:"hostPortRange"`
}

// ContainerMemory is the memory limit of a container of a task in MiB; 0 when it has none of its own.
func ContainerMemory(ctx context.Context, c *Client, task Task, container string) (int64, error) {
	var out struct {
		Definition struct {
			Containers []memoryLimit `json:"containerDefinitions"`
		} `json:"taskDefinition"`
	}
	if err := c.Call(ctx, "DescribeTaskDefinition", map[string]any{"taskDefinition": task.Definition}, &out); err != nil {
		return 0, err
	}
	limit := int64(0)
	for _, l := range append(out.Definition.Containers, task.Overrides.Containers...) { // what was given for the task comes last
		if l.Name == container && l.MiB > 0 {
			limit = l.MiB
		}
	}
	return limit, nil
}

// memoryLimit is the memory limit in a container definition or an override of one.
type memoryLimit struct {
	Name string `json:"name"`
	MiB  int64  `json:"memory"`
}

// Overrides are what was given for a task instead of what its definition says.
type Overrides struct {
	Containers []memoryLimit `json:"containerOverrides"`
}

// Attribute is a fact about a task for which ECS has no member, such as pinion.rank.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Attribute returns the value of an attribute of the task, "" when it has none of that name.
func (t *Task) Attribute(name string) string {
	for _, a := range t.Attributes {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// IntAttribute returns the number in an attribute of the task, 0 when it has none.
func (t *Task) IntAttribute(name string) int {
	value := t.Attribute(name)
	if value == "" {
		return 0 // without the error that Atoi would make for most tasks of a list
	}
	n, _ := strconv.Atoi(value)
	return n
}

// TaskIDs lists the ids of tasks.
func TaskIDs(tasks []Task) []string {
	ids := make([]string, len(tasks))
	for i, task := range tasks {
		ids[i] = task.ID()
	}
	return ids
}

// Failure is a part of a request that was not carried out, as ECS has it.
type Failure struct {
	ARN    string `json:"arn"`
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// UnmarshalJSON keeps the whole document beside the fields.
func (t *Task) UnmarshalJSON(document []byte) error {
	type fields Task
	t.document = append(t.document[:0], document...)
	return json.Unmarshal(document, (*fields)(t))
}

// MarshalJSON gives the document back.
func (t Task) MarshalJSON() ([]byte, error) { return t.document, nil }

// ID is the id of the task: 32 hex digits.
func (t *Task) ID() string { return ResourceID(t.ARN) }

// Stopped reports whether the task has ended and its GPUs are free.
func (t *Task) Stopped() bool { return t.Status == "STOPPED" }

// Service is the name of the service that the task is of; empty when it is of none.
func (t *Task) Service() string {
	name, _ := strings.CutPrefix(t.Group, "service:")
	if name == t.Group {
		return ""
	}
	return name
}

// IsKept reports whether the task is of a service or a daemon, which starts another one when it is stopped.
func (t *Task) IsKept() bool { return t.Service() != "" || strings.HasPrefix(t.Group, "daemon:") }

// GPUMemory is the memory that the containers have of a GPU which others share, in MiB; 0: none.
func (t *Task) GPUMemory() (mib int64) {
	for _, c := range t.Containers {
		if c.Sharing != nil {
			mib += c.Sharing.NvidiaMPS.MemoryMiB
		}
	}
	return mib
}

// GPUs lists the UUIDs of the GPUs of all containers of the task.
func (t *Task) GPUs() []string {
	var all []string
	for _, c := range t.Containers {
		all = append(all, c.GPUs...)
	}
	return all
}

// ResourceID is the last part of an ARN: the id of a task, or "family:revision". Any other text is returned as it is.
func ResourceID(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }

// Timestamp is a time in ECS's JSON: seconds since 1970, or RFC 3339 text, as in events.
type Timestamp struct{ time.Time }

// UnmarshalJSON reads seconds with a fraction, to the millisecond, or text.
func (e *Timestamp) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return e.Time.UnmarshalJSON(text)
	}
	if string(text) == "null" {
		return nil
	}
	seconds, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return err
	}
	e.Time = time.UnixMilli(int64(seconds*1000 + 0.5))
	return nil
}

// describeLimit is the number of tasks that one DescribeTasks may name.
const describeLimit = 100

// DescribeTasks reads tasks by id or ARN, any number of them. Unknown tasks are returned as failures.
func (c *Client) DescribeTasks(ctx context.Context, cluster string, ids []string) ([]Task, []Failure, error) {
	var tasks []Task
	var failures []Failure
	for len(ids) > 0 {
		batch := ids[:min(len(ids), describeLimit)]
		ids = ids[len(batch):]
		var answer struct {
			Tasks    []Task    `json:"tasks"`
			Failures []Failure `json:"failures"`
		}
		if err := c.Call(ctx, "DescribeTasks", map[string]any{"cluster": cluster, "tasks": batch}, &answer); err != nil {
			return nil, nil, err
		}
		tasks = append(tasks, answer.Tasks...)
		failures = append(failures, answer.Failures...)
	}
	return tasks, failures, nil
}

// TaskIDs lists the ids of all tasks of a cluster, those that stopped within the last hour included, sorted.
func (c *Client) TaskIDs(ctx context.Context, cluster string) ([]string, error) {
	return listTasks(ctx, c, map[string]any{"cluster": cluster})
}

// TaskIDsStartedBy is TaskIDs for the tasks with this startedBy.
func (c *Client) TaskIDsStartedBy(ctx context.Context, cluster, startedBy string) ([]string, error) {
	return listTasks(ctx, c, map[string]any{"cluster": cluster, "startedBy": startedBy})
}

// TaskIDsOfFamily is Client.TaskIDs for the tasks of a family of task definitions.
func TaskIDsOfFamily(ctx context.Context, c *Client, cluster, family string) ([]string, error) {
	return listTasks(ctx, c, map[string]any{"cluster": cluster, "family": family})
}

func listTasks(ctx context.Context, c *Client, in map[string]any) ([]string, error) {
	var ids []string
	for _, desired := range []string{"RUNNING", "STOPPED"} {
		in["desiredStatus"] = desired
		for delete(in, "nextToken"); ; {
			var page struct {
				ARNs []string `json:"taskArns"`
				Next string   `json:"nextToken"`
			}
			if err := c.Call(ctx, "ListTasks", in, &page); err != nil {
				return nil, err
			}
			for _, arn := range page.ARNs {
				ids = append(ids, ResourceID(arn))
			}
			if page.Next == "" {
				break
			}
			in["nextToken"] = page.Next
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil // a task that stopped between two pages was listed twice
}

// StopTask requests that a task be stopped, and returns when the request is recorded. The reason is shown with the task. force kills the
// containers at once, without their stop timeouts, also those of a task that is stopping.
func (c *Client) StopTask(ctx context.Context, cluster, id, reason string, force bool) error {
	in := map[string]any{"cluster": cluster, "task": id, "reason": reason}
	if force {
		in["force"] = true
	}
	return c.Call(ctx, "StopTask", in, nil)
}
