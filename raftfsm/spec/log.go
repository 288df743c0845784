package spec

import "time"

// LogLine is one line that a container wrote.
type LogLine struct {
	Time      time.Time `json:"time"`
	Container string    `json:"container"`
	Stream    string    `json:"stream"` // stdout or stderr
	Text      string    `json:"text"`   // without the line end
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
