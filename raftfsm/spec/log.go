package spec

import (
	"cmp"
	"time"

	"pinion/raftfsm/logfilter"
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
	Tail      int       // only the last n lines of those; 0: all
	Follow    bool      // wait for more until the task's containers are gone and drained
	Mark      bool      // with Follow: emit a zero LogLine when all that was there is emitted
	logfilter.Filter
}

// Pull is the progress of one image pull of a task.
type Pull struct {
	Image string `json:"image"`
	Done  int64  `json:"done"`  // bytes here
	Total int64  `json:"total"` // bytes in all, 0 while unknown
}

// MaxLogTail is the longest tail of a log that is read for one request: as many lines as CloudWatch Logs answers with.
const MaxLogTail = 10_000

// LogRetention is the time that a task's logs are kept after its last line, unless its log group has another.
const LogRetention = 7 * 24 * time.Hour

// LogGroup is the log group of a container of the definition: the one that it names, or /pinion/ and the family, so that every
// log can be read.
func (d *TaskDefinition) LogGroup(c *ContainerDefinition) string {
	group, _ := c.LogConfiguration.Awslogs()
	return cmp.Or(group, "/pinion/"+d.Family)
}
