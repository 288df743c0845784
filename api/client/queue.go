package client

import (
	"context"
	"net/url"
	"time"
)

// QueueItem is a pending task in the queue of its cluster. A gang is one item.
type QueueItem struct {
	Position   int       `json:"place"` // in the queue, from 1; 0: a dependency or a retry delay holds it back, see WaitReason
	TaskID     string    `json:"taskId"`
	Tasks      int       `json:"tasks"` // 1, or the size of the gang
	Cluster    string    `json:"cluster"`
	Group      string    `json:"group"`
	Definition string    `json:"definition"`      // "family:revision"; empty: the host is of an older version
	Index      string    `json:"index,omitempty"` // of a task of an array
	Team       string    `json:"team,omitempty"`
	Key        string    `json:"key,omitempty"` // owner of the access key that ran it; empty: root
	Priority   int       `json:"priority"`
	CPU        int64     `json:"cpu"` // units of each task, 1024 a core
	MemoryMiB  int64     `json:"memoryMiB"`
	GPUs       int       `json:"gpus"`
	GPUMiB     int64     `json:"gpuMemoryMiB"`    // of one GPU that others share, in place of whole ones; 0: none
	GPUChoices string    `json:"gpuAlternatives"` // of which any will do: "H200:1/H100:2"; empty: GPUs and GPUMiB say it
	Since      time.Time `json:"since"`
	WaitReason string    `json:"waitsFor"` // for people

	// Infeasible is set when no registered host could ever run the task, however empty: what the nearest host lacks, or
	// without a HostID what all hosts together lack. The task stays in the queue, for a host that can run it.
	Infeasible *Refusal `json:"impossible,omitempty"`
}

// Refusal is the reason why a host cannot run a task.
type Refusal struct {
	HostID string `json:"hostId"`
	Reason string `json:"reason"` // "RESOURCE:GPU", as in the failures of RunTask
	Detail string `json:"detail"` // for people
}

// Reasons of refusals and of failures of RunTask.
const (
	ReasonCPU     = "RESOURCE:CPU"
	ReasonMemory  = "RESOURCE:MEMORY"
	ReasonGPU     = "RESOURCE:GPU"
	ReasonAgent   = "AGENT"   // the host is not connected
	ReasonMissing = "MISSING" // there is no such host, or none at all
)

// Explanation is the answer to why a task is where it is.
type Explanation struct {
	TaskID  string     `json:"taskId"`
	Status  string     `json:"status"`
	Summary string     `json:"summary"`           // for people, in one sentence
	RetryOf string     `json:"retryOf,omitempty"` // the first task that did the same work
	RetryAs string     `json:"retryAs,omitempty"` // the task that does the work of this one again
	Queue   *QueueItem `json:"queue,omitempty"`   // while it is pending; so are the members below

	QueueLength int        `json:"waiting,omitempty"`
	Hosts       []Refusal  `json:"hosts,omitempty"`    // each host of the cluster that cannot take the task now
	Blockers    []Blocker  `json:"holders,omitempty"`  // tasks whose end the task waits for, the last to end at the end
	Earliest    *time.Time `json:"earliest,omitempty"` // earliest start by the time limits of the blockers; nil: unknown
	Estimate    string     `json:"estimate,omitempty"` // what Earliest rests on, or why it is unknown
}

// Blocker is a task that holds what a pending task needs.
type Blocker struct {
	TaskID string    `json:"taskId"`
	HostID string    `json:"hostId"`
	Group  string    `json:"group"`
	Team   string    `json:"team,omitempty"`
	GPUs   int       `json:"gpus"`
	Until  time.Time `json:"until,omitzero"` // by its time limit; zero: it has none
}

// Queue lists the pending tasks of a cluster, in queue order.
func (c *Client) Queue(ctx context.Context, cluster string) ([]QueueItem, error) {
	var items []QueueItem
	return items, c.Get(ctx, "/v1/queue", url.Values{"cluster": {cluster}}, &items)
}

// Explain returns why the task with the id is where it is. A brief explanation asks no host: it has the position in the
// queue and whether the task is infeasible.
func (c *Client) Explain(ctx context.Context, task string, brief bool) (Explanation, error) {
	var query url.Values
	if brief {
		query = url.Values{"brief": {"true"}}
	}
	var e Explanation
	return e, c.Get(ctx, ExplainPath(task), query, &e)
}

// ExplainPath is the path of the explanation of a task, for Get.
func ExplainPath(task string) string { return "/v1/tasks/" + url.PathEscape(task) + "/explain" }
