package spec

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// LogLine is one line that a container wrote.
type LogLine struct {
	Time      time.Time `json:"time"`
	Container string    `json:"container"`
	Stream    string    `json:"stream"` // stdout or stderr
	Text      string    `json:"text"`   // without the line end
	More      bool      `json:"-"`      // the next line is there already: both may be sent at once
}

// LogQuery selects lines of one task.
type LogQuery struct {
	Task      string
	Container string    // empty: all containers, merged by time
	Since     time.Time // zero: from the beginning
	Tail      int       // only the last n lines of what is there; 0: all
	Follow    bool      // wait for more until the task's containers are gone and drained
}

// Pull is how far a task's image pull has come.
type Pull struct {
	Image string `json:"image"`
	Done  int64  `json:"done"`  // bytes here
	Total int64  `json:"total"` // bytes in all, 0 while unknown
}

// LogGroup is a log group of CloudWatch Logs that was created. Others are there because task definitions name them.
type LogGroup struct {
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	// RetentionDays is how long the logs of tasks in the group are kept after their last line; 0 is the hosts' default.
	RetentionDays int   `json:"retentionDays,omitempty"`
	Tags          []Tag `json:"tags,omitempty"`
	// DeletedAt is when it was deleted last, with all that had been written. A deleted group is remembered for LogRetention, after
	// which nothing of it can be left on a host.
	DeletedAt time.Time `json:"deletedAt,omitzero" level:"1"`
}

// LogRetention is the time that a task's logs are kept after its last line, unless its log group has another.
const LogRetention = 7 * 24 * time.Hour

// Exists reports whether the group was created, and not deleted since.
func (g *LogGroup) Exists() bool { return !g.CreatedAt.IsZero() }

// MaxLogGroups is how many log groups can be created: every host knows those with a retention.
const MaxLogGroups = 1000

// ErrTooManyLogGroups refuses log groups beyond MaxLogGroups.
var ErrTooManyLogGroups = fmt.Errorf("a pool can have %d log groups that were created: delete some first, or leave it to the task definitions to name them", MaxLogGroups)

// logRetentions are the retentions in days that CloudWatch Logs has.
var logRetentions = []int{1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653}

// LogRetentions lists the retentions in days that can be chosen.
func LogRetentions() []int { return slices.Clone(logRetentions) }

// LogGroup is the log group of a container of the definition: the one that it names, or /pinion/ and the family, so that every
// log can be read.
func (d *TaskDefinition) LogGroup(c *ContainerDefinition) string {
	group, _ := c.LogConfiguration.Awslogs()
	return cmp.Or(group, "/pinion/"+d.Family)
}
