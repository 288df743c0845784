// Package ended is the vocabulary of the history: tasks that have ended, and questions about them. server/history keeps the tasks and
// answers the questions.
package ended

import (
	"errors"
	"strings"
	"time"

	"pinion/raftfsm/spec"
)

// Outcome is the end of a task in one word.
type Outcome string

// The outcomes of tasks.
const (
	Succeeded Outcome = "succeeded" // every essential container ended by itself with exit code 0
	Failed    Outcome = "failed"    // it did not start, a container failed, its host was lost, it reached its time limit, or what it waited for failed
	Stopped   Outcome = "stopped"   // a user, the scheduler or a preemption stopped it
)

// Outcomes lists the outcomes.
var Outcomes = []Outcome{Succeeded, Failed, Stopped}

// Task is the history's record of a task that has ended. The encoding is that of package compact: new fields stand at the end.
type Task struct {
	Task    spec.Task `json:"task"`
	Outcome Outcome   `json:"outcome"`
	Host    string    `json:"host,omitempty"` // name of its host when it ended; the task has its id
}

// Team is the team that the task counted for; empty for none.
func (t *Task) Team() string { return t.Task.SchedulingOptions().Team }

// Family is the family of the task's definition.
func (t *Task) Family() string {
	family, _, _ := strings.Cut(t.Task.Definition, ":")
	return family
}

// Query selects ended tasks. An empty field selects all.
type Query struct {
	Since, Until time.Time // that stopped at Since or later, and before Until
	Outcome      Outcome
	Team         string
	Key          string // owner of the access key; see accesskey.Key.Owner
	Family       string
	Group        string
	Cluster      string
	Allowed      func(cluster, team string) bool // nil: all tasks
	Limit        int                             // tasks of one page at most; 0: DefaultPage
	Page         string                          // Page.Next of the page before; empty for the first
}

// The number of tasks of a page: unless asked for another one, and at most.
const (
	DefaultPage = 200
	MaxPage     = 1000
)

// MaxPageBytes is about how much the tasks of a page hold: a page ends early where they are large.
const MaxPageBytes = 2 << 20

// Page is a part of an answer, the task that stopped last first. A page with a Next may hold few tasks, or none: the search for rare
// ones is cut into pages too.
type Page struct {
	Tasks []Task
	Next  string // for the next page; empty: there is none
	Gaps  []Gap  // times of which tasks may be missing, the oldest first
}

// ErrPage refuses what is no Page.Next.
var ErrPage = errors.New("this is no token of a page of the history: leave it out to begin anew")

// Gap is a time of which a server's history may lack tasks: those that stopped at From or later, and not after To.
type Gap struct {
	From time.Time `json:"from,omitzero"` // zero: since the pool began
	To   time.Time `json:"to"`
}

// Dimension is an attribute by which usage can be summed.
type Dimension string

// The dimensions.
const (
	ByDay     Dimension = "day"
	ByCluster Dimension = "cluster"
	ByTeam    Dimension = "team"
	ByKey     Dimension = "key"
	ByFamily  Dimension = "family"
)

// Dimensions lists the dimensions.
var Dimensions = []Dimension{ByDay, ByCluster, ByTeam, ByKey, ByFamily}

// UsageQuery asks for sums over ended tasks, by whole days in UTC. An empty field selects all.
type UsageQuery struct {
	Since, Until time.Time   // from the day of Since to the day of Until, that day included
	By           []Dimension // that the rows differ in
	Team         string
	Key          string
	Family       string
	Cluster      string
	Allowed      func(cluster, team string) bool // nil: all tasks

	Running []*spec.Task // those of them that run are counted too, up to Now
	Now     time.Time
}

// UsageRow is a sum over ended tasks, and those of UsageQuery.Placed. What the query does not sum by is empty. The GPU time of a task counts for the days on which it
// ran, the task itself for the day on which it ended.
type UsageRow struct {
	Day        string `json:"day,omitempty"` // such as 2026-01-02, in UTC
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
	Running            int64 `json:"running,omitempty"`  // tasks that run, and count in the GPU time; in the row of today
}

// Usage is the answer to a UsageQuery.
type Usage struct {
	Rows []UsageRow // at most MaxRows, by day, then those with the most GPU time
	More bool       // there were more rows
	Gaps []Gap      // times of which tasks may be missing, the oldest first
}

// MaxRows bounds the rows of a Usage.
const MaxRows = 10_000
