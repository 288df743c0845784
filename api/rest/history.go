package rest

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/api/ecs/view"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// Ended is the history of tasks that have ended. It is asked on the leader.
type Ended interface {
	// Find lists tasks, the one that stopped last first.
	Find(q ended.Query) (ended.Page, error)
	// Task is one task, nil when it is not known.
	Task(id string) (*ended.Task, error)
	// IDs lists the ids that begin with these hex digits, at most limit of them.
	IDs(prefix string, limit int) ([]string, error)
	// Usage sums up the tasks that a query selects.
	Usage(q ended.UsageQuery) (ended.Usage, error)
}

// history serves the routes about tasks that have ended.
type history struct {
	ended Ended // nil: this host keeps none
	store Store
	now   func() time.Time
}

// maxPrefixMatches bounds the tasks whose ids begin alike.
const maxPrefixMatches = 20

// endedView is a task that has ended.
type endedView struct {
	Task    any           `json:"task"` // as DescribeTasks shows it
	Outcome ended.Outcome `json:"outcome"`
	Host    string        `json:"host,omitempty"` // name of its host when it ended
	Team    string        `json:"team,omitempty"`
	Key     string        `json:"key,omitempty"` // owner of the access key that ran it; absent: root
	GPUs    int           `json:"gpus"`
}

// historyView is a page of the history.
type historyView struct {
	Tasks []endedView `json:"tasks"`          // the one that stopped last first
	Next  string      `json:"next,omitempty"` // for ?page= of the next one; absent: there is none
	Gaps  []ended.Gap `json:"gaps,omitempty"` // times of which tasks may be missing
}

// usageView is sums over tasks that have ended.
type usageView struct {
	Rows []ended.UsageRow `json:"rows"`
	More bool             `json:"more,omitempty"` // there are more rows than one answer holds
	Gaps []ended.Gap      `json:"gaps,omitempty"` // times of which tasks may be missing
}

func (h history) routes() []Route {
	const get, read = http.MethodGet, accesskey.RoleRead
	fields := []Parameter{clusterParameter, {"since", "a time, or an age such as 36h"}, {"until", "a time, or an age"}, {"team", "only of this team"},
		{"key", "only of this owner of an access key"}, {"family", "only of this family of task definitions"}}
	return []Route{
		{Method: get, Path: "/v1/history", Role: read, Scope: inCluster, Summary: "tasks that have ended, the last one first; they are kept for longer than ListTasks shows them",
			Query: append(slices.Clone(fields), Parameter{"outcome", "only those that succeeded, failed or stopped (were stopped)"}, Parameter{"group", "only of this group"},
				Parameter{"id", "only those whose ids begin with these digits"}, Parameter{"limit", "tasks of a page, at most 1000"}, Parameter{"page", "next of the page before"}),
			Out: reflect.TypeFor[historyView](), List: true, Serve: h.list},
		{Method: get, Path: "/v1/usage", Role: read, Scope: inCluster, Summary: "GPU time, number and failures of tasks that have ended, by whole days in UTC",
			Query: append(slices.Clone(fields), Parameter{"by", "what the rows differ in, with commas between: day, cluster, team, key, family"},
				Parameter{"running", "true: tasks that run count too, up to now"}),
			Out: reflect.TypeFor[usageView](), List: true, Serve: h.usage},
	}
}

// list lists tasks that have ended.
func (h history) list(x *httpx.Exchange, res leader.Resolution) error {
	cluster, err := historyCluster(x, res)
	if err != nil {
		return err
	}
	if h.ended == nil {
		return NotConfigured("the history of tasks")
	}
	text := x.Request.URL.Query()
	q := ended.Query{Outcome: ended.Outcome(text.Get("outcome")), Team: text.Get("team"), Key: text.Get("key"), Family: text.Get("family"),
		Group: text.Get("group"), Cluster: cluster, Allowed: res.Principal.Sees, Page: text.Get("page")}
	if q.Outcome != "" && !slices.Contains(ended.Outcomes, q.Outcome) {
		return wire.Errorf(wire.InvalidParameter, "outcome must be succeeded, failed or stopped, not %q.", q.Outcome)
	}
	if q.Since, q.Until, err = parseSpan(text, h.now()); err != nil {
		return err
	}
	if limit := text.Get("limit"); limit != "" {
		if q.Limit, err = strconv.Atoi(limit); err != nil || q.Limit < 1 || q.Limit > ended.MaxPage {
			return wire.Errorf(wire.InvalidParameter, "limit must be a number from 1 to %d, not %q.", ended.MaxPage, limit)
		}
	}
	var page ended.Page
	if id := text.Get("id"); id != "" {
		page, err = h.withPrefix(id, q)
	} else {
		page, err = h.ended.Find(q)
	}
	if err != nil {
		return err
	}
	return reply(x, h.render(page, res))
}

// withPrefix finds the tasks whose ids begin with these digits, and that the caller may see.
func (h history) withPrefix(id string, q ended.Query) (page ended.Page, err error) {
	ids, err := h.ended.IDs(id, maxPrefixMatches)
	if err != nil {
		return page, wire.Errorf(wire.InvalidParameter, "%v", err)
	}
	for _, id := range ids {
		task, err := h.ended.Task(id)
		if err != nil {
			return page, err
		}
		if task != nil && (q.Cluster == "" || q.Cluster == task.Task.Cluster) && q.Allowed(task.Task.Cluster, task.Team()) {
			page.Tasks = append(page.Tasks, *task)
		}
	}
	if q.Limit > 0 && len(page.Tasks) > q.Limit {
		return page, wire.Errorf(wire.InvalidParameter, "%d tasks or more have ids that begin with %q: give more digits.", len(page.Tasks), id)
	}
	return page, nil
}

func (h history) render(page ended.Page, res leader.Resolution) historyView {
	renderer := &view.Renderer{Region: res.Principal.Region, View: res.View, Hosts: h.store, Now: h.now}
	answer := historyView{Tasks: []endedView{}, Next: page.Next, Gaps: page.Gaps}
	for i := range page.Tasks {
		t := &page.Tasks[i]
		answer.Tasks = append(answer.Tasks, endedView{Task: renderer.Task(&t.Task, true), Outcome: t.Outcome, Host: t.Host, Team: t.Team(),
			Key: t.Task.KeyOwner(), GPUs: len(t.Task.GPUs())})
	}
	return answer
}

// usage sums up tasks that have ended.
func (h history) usage(x *httpx.Exchange, res leader.Resolution) error {
	cluster, err := historyCluster(x, res)
	if err != nil {
		return err
	}
	if h.ended == nil {
		return NotConfigured("the history of tasks")
	}
	text := x.Request.URL.Query()
	q := ended.UsageQuery{Team: text.Get("team"), Key: text.Get("key"), Family: text.Get("family"), Cluster: cluster, Allowed: res.Principal.Sees}
	if q.Since, q.Until, err = parseSpan(text, h.now()); err != nil {
		return err
	}
	for by := range strings.SplitSeq(text.Get("by"), ",") {
		if by == "" {
			continue
		}
		if slices.Contains(q.By, ended.Dimension(by)) {
			return wire.Errorf(wire.InvalidParameter, "by names %s twice.", by)
		}
		if !slices.Contains(ended.Dimensions, ended.Dimension(by)) {
			return wire.Errorf(wire.InvalidParameter, "by must be of day, cluster, team, key and family, not %q.", by)
		}
		q.By = append(q.By, ended.Dimension(by))
	}
	switch running := text.Get("running"); running {
	case "", "false":
	case "true":
		q.Running, q.Now = tasksOnHosts(res.View, cluster), h.now()
	default:
		return wire.Errorf(wire.InvalidParameter, "running must be true or false, not %q.", running)
	}
	found, err := h.ended.Usage(q)
	if err != nil {
		return err
	}
	return reply(x, usageView{Rows: append([]ended.UsageRow{}, found.Rows...), More: found.More, Gaps: found.Gaps})
}

// tasksOnHosts are the tasks on the hosts of a cluster, or of all when it is empty.
func tasksOnHosts(view *raftfsm.View, cluster string) (all []*spec.Task) {
	for _, host := range view.Hosts(cluster) {
		all = append(all, view.TasksOn(host.ID)...)
	}
	return all
}

// historyCluster is the cluster that is asked for, empty for all that the caller's key is for.
func historyCluster(x *httpx.Exchange, res leader.Resolution) (string, error) {
	cluster := x.Request.URL.Query().Get("cluster")
	if cluster == "" {
		return "", nil
	}
	return cluster, res.Principal.RequireCluster(cluster)
}

func parseSpan(text url.Values, now time.Time) (since, until time.Time, err error) {
	for name, at := range map[string]*time.Time{"since": &since, "until": &until} {
		if given := text.Get(name); given != "" {
			if *at, err = parseMoment(name, given, now); err != nil {
				return since, until, err
			}
		}
	}
	return since, until, nil
}

// endedTask is a task of the history, which findTask has to have allowed; nil when it is not known, or the history cannot be asked: then what
// the state has is the whole answer.
func endedTask(x *httpx.Exchange, from Ended, id string) *ended.Task {
	if from == nil {
		return nil
	}
	task, err := from.Task(id)
	if err != nil {
		x.Log.Warn("the history of tasks cannot be asked", "requestId", x.ID, "error", err)
		return nil
	}
	return task
}

// explainEnded explains a task of the history.
func explainEnded(t *ended.Task) *explanation {
	summary := "It " + string(t.Outcome) + " at " + t.Task.Times.Stopped.UTC().Format(time.RFC3339)
	if t.Outcome == ended.Stopped {
		summary = "It was stopped at " + t.Task.Times.Stopped.UTC().Format(time.RFC3339)
	}
	if t.Host != "" {
		summary += " on " + t.Host
	}
	for _, c := range t.Task.Containers {
		if c.ExitCode != nil {
			summary += ", " + c.Name + " with exit code " + strconv.Itoa(*c.ExitCode)
		}
		if c.Reason != "" {
			summary += " (" + c.Reason + ")"
		}
	}
	if t.Task.StoppedReason != "" {
		summary += ": " + t.Task.StoppedReason
	}
	return &explanation{TaskID: t.Task.ID, Status: t.Task.LastStatus, Summary: summary + ".", RetryOf: t.Task.RetryOf}
}
