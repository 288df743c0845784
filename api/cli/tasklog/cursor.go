package tasklog

import (
	"time"

	"pinion/api/client"
)

// Position is how far the log of a task was read, so that reading it goes on there. It is used by one goroutine.
type Position struct{ cursor }

// NewPosition is the beginning of a log. Of one container lines come in the order of time; of several, nearly.
func NewPosition(one bool) *Position {
	p := &Position{cursor{containers: map[string]*containerPosition{}, slack: writeSlack}}
	if one {
		p.slack = 0
	}
	return p
}

// Resume is the query that goes on at the position.
func (p *Position) Resume(q client.LogQuery) client.LogQuery { return p.resume(q) }

// Advance moves the position over a line, and reports whether it is new: lines around the position come again.
func (p *Position) Advance(line client.LogLine) bool { return p.advance(line) }

// Follow says that lines come as they are written from now on.
func (p *Position) Follow() { p.slack = resumeSlack }

// writeSlack is how long after its stamp a line is written, at most: those that are there come in order up to that.
const writeSlack = time.Second

// resumeSlack is how far before the newest line a log is read again after an interruption. The lines of a task's containers come in the
// order of time, but for those that were stamped before a line of another container and written after it.
const resumeSlack = 10 * time.Second

// cursor is a position in the log of a task: how far each container's own lines were taken, whose times never decrease.
type cursor struct {
	first, newest time.Time
	containers    map[string]*containerPosition
	slack         time.Duration // how far before the newest line the log is read again
}

// containerPosition is a position in the log of a container.
type containerPosition struct {
	at    time.Time // of the newest line
	lines int       // with that time
	skip  int       // of these, those that come again after resuming
}

// resume is the query that continues at the cursor; q itself at the beginning.
func (c *cursor) resume(q client.LogQuery) client.LogQuery {
	if len(c.containers) == 0 {
		return q
	}
	since := c.newest.Add(-c.slack)
	if since.Before(q.Since) {
		since = q.Since
	}
	if q.Tail > 0 && since.Before(c.first) { // before the first line is what the tail left out
		since = c.first
	}
	q.Since, q.Tail = since, 0
	for _, r := range c.containers {
		r.skip = r.lines
	}
	return q
}

// advance moves the cursor over a line, and reports whether the line is new.
func (c *cursor) advance(line client.LogLine) bool {
	r := c.containers[line.Container]
	switch {
	case r == nil:
		r = &containerPosition{}
		c.containers[line.Container] = r
	case line.Time.Before(r.at):
		return false
	case line.Time.Equal(r.at) && r.skip > 0:
		r.skip--
		return false
	}
	if line.Time.After(r.at) {
		r.at, r.lines, r.skip = line.Time, 0, 0
	}
	r.lines++
	if c.first.IsZero() {
		c.first = line.Time
	}
	if line.Time.After(c.newest) {
		c.newest = line.Time
	}
	return true
}
