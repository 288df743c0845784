package merge

import (
	"sync"
	"time"

	"pinion/api/client"
)

const (
	// bufferLines and bufferBytes are how much of one task's log waits here for lines of others that are older; then its host waits.
	bufferLines = 256
	bufferBytes = 64 << 10
	// window is how long a line that has just been written waits for older ones of other tasks, which may be on their way.
	window = 300 * time.Millisecond
)

// phase is how far the log of a task was read.
type phase int

const (
	reading  phase = iota // of what is there already: a line that comes may be older than those of other tasks
	late                  // as reading, but its host does not answer: nothing waits for it
	followed              // all that was there has come; lines come as they are written
	ended                 // nothing comes any more
)

// queue is what has come of one task's log and was not taken yet.
type queue struct {
	Source
	lines []arrival
	bytes int
	phase phase
	room  chan struct{} // receives when lines were taken
}

// arrival is a line and when it came.
type arrival struct {
	client.LogLine
	at time.Time
}

// queues are those of all tasks of a merge. Several goroutines may use them together.
type queues struct {
	now     func() time.Time
	changed chan struct{} // receives after a change; several changes may be one

	mu     sync.Mutex
	open   []*queue // those that have not ended, or have lines, in the order of adding
	closed bool     // none is added any more
}

func newQueues(now func() time.Time) *queues {
	return &queues{now: now, changed: make(chan struct{}, 1)}
}

func (all *queues) wakeAll() {
	select {
	case all.changed <- struct{}{}:
	default:
	}
}

// add adds the queue of a task.
func (all *queues) add(s Source) *queue {
	q := &queue{Source: s, room: make(chan struct{}, 1)}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.open = append(all.open, q)
	return q
}

// close says that no queue is added any more.
func (all *queues) close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.closed = true
	all.wakeAll()
}

// push adds a line to a queue, and reports whether there is room for more. The line is taken in any case.
func (all *queues) push(q *queue, line client.LogLine) (room bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	q.lines = append(q.lines, arrival{line, all.now()})
	q.bytes += len(line.Text)
	if q.phase == late {
		q.phase = reading
	}
	all.wakeAll()
	return !q.isFull()
}

func (q *queue) isFull() bool { return len(q.lines) >= bufferLines || q.bytes >= bufferBytes }

// hasRoom reports whether a queue takes more lines.
func (all *queues) hasRoom(q *queue) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return !q.isFull()
}

// set moves a queue to another phase.
func (all *queues) set(q *queue, p phase) {
	all.mu.Lock()
	defer all.mu.Unlock()
	q.phase = p
	all.wakeAll()
}

// pass says that nothing is to wait for a queue whose host does not answer.
func (all *queues) pass(q *queue) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if q.phase == reading {
		q.phase = late
	}
	all.wakeAll()
}

// follows reports whether all that was there of a queue has come.
func (all *queues) follows(q *queue) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return q.phase == followed
}

// takeResult is what a look at all queues has found.
type takeResult int

const (
	taken takeResult = iota
	wait             // for a change, or for as long as is said
	over             // nothing comes any more
)

// take takes the oldest line of all queues; of lines of one time that of the task that was added first. While a task whose log is still read
// has none, it waits, and while one that is followed has none, for what is left of window. With peek the line stays.
func (all *queues) take(peek bool) (from *queue, line client.LogLine, found takeResult, pause time.Duration) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.forget()
	var first *queue
	blocked, quiet := false, false
	for _, q := range all.open {
		switch {
		case len(q.lines) > 0:
			if first == nil || q.lines[0].Time.Before(first.lines[0].Time) {
				first = q
			}
		case q.phase == reading:
			blocked = true
		case q.phase == followed:
			quiet = true
		}
	}
	switch {
	case first == nil && all.closed && len(all.open) == 0:
		return nil, line, over, 0
	case first == nil || blocked:
		return nil, line, wait, 0
	}
	if left := window - all.now().Sub(first.lines[0].at); quiet && left > 0 {
		return nil, line, wait, left
	}
	head := first.lines[0]
	if !peek {
		first.lines[0] = arrival{}
		first.lines, first.bytes = first.lines[1:], first.bytes-len(head.Text)
		if !first.isFull() {
			select {
			case first.room <- struct{}{}:
			default:
			}
		}
	}
	return first, head.LogLine, taken, 0
}

// forget drops the queues that are over.
func (all *queues) forget() {
	kept := all.open[:0]
	for _, q := range all.open {
		if q.phase != ended || len(q.lines) > 0 {
			kept = append(kept, q)
		}
	}
	clear(all.open[len(kept):])
	all.open = kept
}

// count is how many queues there are.
func (all *queues) count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.forget()
	return len(all.open)
}
