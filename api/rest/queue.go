package rest

import (
	"strconv"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// queued is a task or a gang that waits for its place.
type queued struct {
	Position   int       `json:"place"` // in its cluster, from 1; 0: something holds it back, see WaitsFor
	TaskID     string    `json:"taskId"`
	Tasks      int       `json:"tasks"` // 1, or those of its gang
	Cluster    string    `json:"cluster"`
	Group      string    `json:"group"`
	Definition string    `json:"definition"`      // "family:revision"
	Index      string    `json:"index,omitempty"` // of a task of an array
	Team       string    `json:"team,omitempty"`
	Key        string    `json:"key,omitempty"` // owner of the access key that ran it; absent: root
	Priority   int       `json:"priority"`
	CPU        int64     `json:"cpu"` // units, of each task
	MemoryMiB  int64     `json:"memoryMiB"`
	GPUs       int       `json:"gpus"`
	GPUMiB     int64     `json:"gpuMemoryMiB,omitempty"`    // of one GPU that others share, in place of whole ones
	GPUChoices string    `json:"gpuAlternatives,omitempty"` // of which any will do, the preferred one first: "H200:1/H100:2"
	Since      time.Time `json:"since"`
	WaitsFor   string    `json:"waitsFor"` // for people

	// Impossible is there when no registered host could ever run it, however empty: what the nearest host lacks, or without
	// a HostID what all of them together lack. It waits all the same, for a host that can.
	Impossible *failure `json:"impossible,omitempty"`
}

// explanation is why a task is where it is.
type explanation struct {
	TaskID  string      `json:"taskId"`
	Status  spec.Status `json:"status"`
	Summary string      `json:"summary"`           // for people, in one sentence
	RetryOf string      `json:"retryOf,omitempty"` // the first task that did its work, when this one repeats it
	RetryAs string      `json:"retryAs,omitempty"` // the task that repeats its work, when it failed or was preempted
	Queue   *queued     `json:"queue,omitempty"`   // the rest is there while it waits
	Waiting int         `json:"waiting,omitempty"`

	// Hosts are those that cannot take the task now, with the first filter that refused it: all hosts of the cluster.
	Hosts []failure `json:"hosts,omitempty"`
	// Holders hold what the task will get first, the one that ends last at the end.
	Holders []blocker `json:"holders,omitempty"`

	Earliest *time.Time `json:"earliest,omitempty"` // by the time limits of the holders; absent: nobody knows
	Estimate string     `json:"estimate,omitempty"` // what Earliest means, or why there is none
}

// failure is why a host cannot take a task.
type failure struct {
	HostID string `json:"hostId,omitempty"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// blocker is a task that holds what another one waits for.
type blocker struct {
	TaskID string    `json:"taskId"`
	HostID string    `json:"hostId"`
	Group  string    `json:"group"`
	Team   string    `json:"team,omitempty"`
	GPUs   int       `json:"gpus"`
	Until  time.Time `json:"until,omitzero"` // by its time limit; absent: it has none
}

// listQueue lists the tasks that wait, of every cluster or of ?cluster=NAME, and of the teams that the caller's key is for.
func (a *API) listQueue(x *httpx.Exchange, res leader.Resolution) error {
	cluster, err := res.Principal.ClusterOf(x.Request)
	if err != nil {
		return err
	}
	if a.Queue == nil {
		return NotConfigured("the queue")
	}
	list, err := a.Queue.Queue(x.Context(), cluster)
	if err != nil {
		return err
	}
	views := make([]queued, 0, len(list))
	for i := range list {
		if res.Principal.Grant.SeesTeam(list[i].Team) {
			views = append(views, *renderQueued(&list[i]))
		}
	}
	return reply(x, views)
}

// explainTask tells why a task is where it is.
func (a *API) explainTask(x *httpx.Exchange, res leader.Resolution) error {
	task, err := findTask(x, res, a.Ended)
	if err != nil {
		return err
	}
	if res.View.Task(task.ID) == nil {
		if known := endedTask(x, a.Ended, task.ID); known != nil {
			return reply(x, explainEnded(known))
		}
	}
	if a.Queue == nil {
		return NotConfigured("explaining tasks")
	}
	explain := a.Queue.Explain
	if text := x.Request.URL.Query().Get("brief"); text != "" {
		brief, err := strconv.ParseBool(text)
		if err != nil {
			return wire.Errorf(wire.InvalidParameter, "brief must be true or false, not %q.", text)
		}
		if brief {
			explain = a.Queue.ExplainBriefly
		}
	}
	found, err := explain(x.Context(), task.ID)
	if err != nil {
		return err
	}
	for i := range found.Blockers { // whose they are is not the caller's business
		if b := &found.Blockers[i]; !res.Principal.Grant.SeesTeam(b.Team) {
			b.Group, b.Team = "", ""
		}
	}
	return reply(x, renderExplanation(&found))
}

// findTask returns the task {id} of a request, which the caller's key must be for: of the state, or of the history.
func findTask(x *httpx.Exchange, res leader.Resolution, past Ended) (*spec.Task, error) {
	id := x.Request.PathValue("id")
	task := res.View.Task(id)
	if task == nil {
		if known := endedTask(x, past, id); known != nil {
			return &known.Task, res.Principal.RequireTeam(known.Task.Cluster, known.Team())
		}
		if past != nil {
			return nil, wire.Errorf(httpx.NotFound, "There is no task %s, and none that ended has this id.", id)
		}
		return nil, wire.Errorf(httpx.NotFound, "There is no task %s. Stopped tasks are forgotten after an hour.", id)
	}
	return task, res.Principal.RequireTask(task)
}

func renderExplanation(e *spec.Explanation) *explanation {
	view := &explanation{
		TaskID: e.TaskID, Status: e.Status, Summary: e.Summary, RetryOf: e.RetryOf, RetryAs: e.RetryAs, Queue: renderQueued(e.Queue),
		Waiting: e.QueueLength, Earliest: e.Earliest, Estimate: e.Estimate,
	}
	for i := range e.Hosts {
		view.Hosts = append(view.Hosts, *renderFailure(&e.Hosts[i]))
	}
	for _, h := range e.Blockers {
		view.Holders = append(view.Holders, blocker{TaskID: h.TaskID, HostID: h.HostID, Group: h.Group, Team: h.Team, GPUs: h.GPUs, Until: h.Until})
	}
	return view
}

func renderQueued(q *spec.QueueItem) *queued {
	if q == nil {
		return nil
	}
	return &queued{
		Position: q.Position, TaskID: q.TaskID, Tasks: q.Tasks, Cluster: q.Cluster, Group: q.Group, Definition: q.Definition, Index: q.Index, Team: q.Team, Key: q.Key, Priority: q.Priority,
		CPU: q.CPU, MemoryMiB: q.MemoryMiB, GPUs: q.GPUs, GPUMiB: q.GPUMiB, GPUChoices: q.GPUChoices, Since: q.Since, WaitsFor: q.WaitReason, Impossible: renderFailure(q.Infeasible),
	}
}

func renderFailure(f *spec.Failure) *failure {
	if f == nil {
		return nil
	}
	return &failure{HostID: f.HostID, Reason: f.Reason, Detail: f.Detail}
}
