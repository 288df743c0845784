package spec

import "time"

// QueueItem is a task that waits for a place, as the leader of the moment orders the queue. A gang is one of these.
type QueueItem struct {
	Position   int       `json:"place"` // in its cluster, from 1; 0: something holds it back, see WaitsFor
	TaskID     string    `json:"taskId"`
	Tasks      int       `json:"tasks"` // 1, or those of its gang
	Cluster    string    `json:"cluster"`
	Group      string    `json:"group"`
	Definition string    `json:"definition"`      // "family:revision"
	Index      string    `json:"index,omitempty"` // of a task of an array
	Team       string    `json:"team,omitempty"`
	Key        string    `json:"key,omitempty"` // owner of the access key that ran it; empty: root
	Priority   int       `json:"priority"`
	CPU        int64     `json:"cpu"` // units, of each task
	MemoryMiB  int64     `json:"memoryMiB"`
	GPUs       int       `json:"gpus"`
	GPUMiB     int64     `json:"gpuMemoryMiB,omitempty"`    // of one GPU, in place of whole ones
	GPUChoices string    `json:"gpuAlternatives,omitempty"` // as TagGPUAlternatives has them, in place of GPUs
	Since      time.Time `json:"since"`
	WaitReason string    `json:"waitsFor"` // for people

	// Infeasible is there when no host registered now could ever run it, however empty: what the nearest host lacks, or
	// without a HostID what all of them together do. It waits all the same, for a host that can.
	Infeasible *Failure `json:"impossible,omitempty"`
}

// Explanation says why a task has its status.
type Explanation struct {
	TaskID      string     `json:"taskId"`
	Status      Status     `json:"status"`
	Summary     string     `json:"summary"`           // for people, in one sentence
	RetryOf     string     `json:"retryOf,omitempty"` // the first task that did its work, when it does that again
	RetryAs     string     `json:"retryAs,omitempty"` // the task that does its work again, when it failed or gave way
	Queue       *QueueItem `json:"queue,omitempty"`   // the rest is there while it waits
	QueueLength int        `json:"waiting,omitempty"`

	// Hosts are all hosts of the cluster that cannot take the task now, each with the first filter that refused it.
	Hosts []Failure `json:"hosts,omitempty"`
	// Blockers have what the task will get first, the one that ends last at the end.
	Blockers []Blocker `json:"holders,omitempty"`

	Earliest *time.Time `json:"earliest,omitempty"` // by the time limits of the holders; nil: nobody knows
	Estimate string     `json:"estimate,omitempty"` // what Earliest means, or why there is none
}

// Blocker is a task that has what another one waits for.
type Blocker struct {
	TaskID string    `json:"taskId"`
	HostID string    `json:"hostId"`
	Group  string    `json:"group"`
	Team   string    `json:"team,omitempty"`
	GPUs   int       `json:"gpus"`
	Until  time.Time `json:"until,omitzero"` // by its time limit; zero: it does not end by itself
}
