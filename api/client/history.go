package client

import (
	"context"
	"net/url"
	"strconv"
	"time"
)

// EndedTask is a task of the history, which keeps tasks for longer than ListTasks shows them.
type EndedTask struct {
	Task    Task   `json:"task"`
	Outcome string `json:"outcome"` // succeeded, failed, or stopped
	Host    string `json:"host"`    // name of its host when it ended
	Team    string `json:"team"`
	Key     string `json:"key"` // owner of the access key that ran it; empty: root
	GPUs    int    `json:"gpus"`
}

// HistoryGap is a time of which ended tasks may be missing.
type HistoryGap struct {
	From time.Time `json:"from"` // zero: since the pool began
	To   time.Time `json:"to"`
}

// HistoryQuery selects ended tasks. An empty field selects all.
type HistoryQuery struct {
	Since, Until time.Time
	Outcome      string
	Team, Key    string
	Family       string
	Group        string
	Cluster      string
	ID           string // digits that the id begins with
}

func (q HistoryQuery) values() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{"outcome": q.Outcome, "team": q.Team, "key": q.Key, "family": q.Family, "group": q.Group, "cluster": q.Cluster, "id": q.ID} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !at.IsZero() {
			values.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return values
}

// historyPage is the number of tasks of one request.
const historyPage = 1000

// MaxSearched is the number of ended tasks of which EndedTasksThat looks for those that are wanted.
const MaxSearched = 100 * historyPage

// EndedTasks lists tasks that have ended, the last one first, at most limit of them; more: there are others.
func EndedTasks(ctx context.Context, c *Client, q HistoryQuery, limit int) (tasks []EndedTask, gaps []HistoryGap, more bool, err error) {
	return EndedTasksThat(ctx, c, q, limit, nil)
}

// EndedTasksThat is EndedTasks for those tasks alone that keep leaves of each page, which it is given in order; nil keeps all. more with fewer tasks
// than limit: it has seen MaxSearched tasks.
func EndedTasksThat(ctx context.Context, c *Client, q HistoryQuery, limit int, keep func([]EndedTask) ([]EndedTask, error)) (tasks []EndedTask, gaps []HistoryGap, more bool, err error) {
	pageSize := historyPage
	if keep == nil {
		pageSize, keep = min(historyPage, limit), func(page []EndedTask) ([]EndedTask, error) { return page, nil }
	}
	values := q.values()
	values.Set("limit", strconv.Itoa(pageSize))
	for searched := 0; ; {
		var page struct {
			Tasks []EndedTask  `json:"tasks"`
			Next  string       `json:"next"`
			Gaps  []HistoryGap `json:"gaps"`
		}
		if err := c.Get(ctx, "/v1/history", values, &page); err != nil {
			return nil, nil, false, err
		}
		kept, err := keep(page.Tasks)
		if err != nil {
			return nil, nil, false, err
		}
		tasks, searched = append(tasks, kept...), searched+len(page.Tasks)
		if page.Next == "" || len(tasks) >= limit || searched >= max(limit, MaxSearched) {
			return tasks[:min(len(tasks), limit)], page.Gaps, page.Next != "" || len(tasks) > limit, nil
		}
		values.Set("page", page.Next)
	}
}

// UsageRow is a sum over ended tasks.
type UsageRow struct {
	Day        string `json:"day,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
	Team       string `json:"team,omitempty"`
	Key        string `json:"key,omitempty"`
	Family     string `json:"family,omitempty"`
	Tasks      int64  `json:"tasks"`
	Failed     int64  `json:"failed"`
	GPUSeconds int64  `json:"gpuSeconds"`

	MeasuredGPUSeconds int64 `json:"measuredGPUSeconds"` // of the GPU time, that in which the use of the GPUs was measured
	BusyGPUSeconds     int64 `json:"busyGPUSeconds"`     // of that, the time in which something computed
	Joules             int64 `json:"joules"`             // that the GPUs needed in that time
	Running            int64 `json:"running"`            // tasks that run, and count in the GPU time
}

// Usage is sums over ended tasks.
type Usage struct {
	Rows []UsageRow   `json:"rows"`
	More bool         `json:"more"` // there are more rows than one answer holds
	Gaps []HistoryGap `json:"gaps"`
}

// SumUsage sums up the tasks that the query selects, by whole days in UTC. by is what the rows differ in, with commas between: day, cluster, team,
// key, family. With running those count too that run, up to now.
func SumUsage(ctx context.Context, c *Client, q HistoryQuery, by string, running bool) (Usage, error) {
	values := q.values()
	values.Set("by", by)
	if running {
		values.Set("running", "true")
	}
	var usage Usage
	return usage, c.Get(ctx, "/v1/usage", values, &usage)
}
