// Package tasklog prints the logs of tasks.
package tasklog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"pinion/api/cli/invocation"
	"pinion/api/client"
)

// Follow emits the lines of a log. With q.Follow it resumes an interrupted stream, without a gap or a repeated line.
func Follow(ctx context.Context, inv *invocation.Invocation, q client.LogQuery, emit func(client.LogLine) error) error {
	if !q.Follow {
		return inv.Client.Logs(ctx, q, emit)
	}
	var position cursor
	for {
		progressed, interrupted := false, false
		err := inv.RetryUnavailable(ctx, func() error {
			err := inv.Client.Logs(ctx, position.resume(q), func(line client.LogLine) error {
				progressed = true
				if !position.advance(line) {
					return nil
				}
				return emit(line)
			})
			if interrupted = progressed && errors.Is(err, client.ErrLogInterrupted); interrupted {
				return nil // there was progress: the retries start anew
			}
			return err
		})
		if err != nil || !interrupted {
			return err
		}
	}
}

// cursor is a position in a log: the newest time, and the number of lines that carry it.
type cursor struct {
	newest        time.Time
	linesAtNewest int
	skip          int // lines of the newest time that come again after resuming
}

// resume is the query that continues at the cursor; q itself at the beginning.
func (c *cursor) resume(q client.LogQuery) client.LogQuery {
	if c.linesAtNewest > 0 {
		q.Since, q.Tail, c.skip = c.newest, 0, c.linesAtNewest
	}
	return q
}

// advance moves the cursor over a line, and reports whether the line is new.
func (c *cursor) advance(line client.LogLine) bool {
	if c.skip > 0 && line.Time.Equal(c.newest) {
		c.skip--
		return false
	}
	switch {
	case line.Time.After(c.newest):
		c.newest, c.linesAtNewest, c.skip = line.Time, 1, 0
	case line.Time.Equal(c.newest):
		c.linesAtNewest++
	}
	return true
}

// Printer writes log lines: the standard output of containers to Out, their standard error to Err.
type Printer struct {
	Out, Err   io.Writer
	Timestamps bool
	Names      bool // put the name of the container before each line
	JSON       bool // whole lines as JSON, all of them to Out
}

// Print writes one line.
func (p Printer) Print(line client.LogLine) error {
	if p.JSON {
		return json.NewEncoder(p.Out).Encode(line)
	}
	w := p.Out
	if line.Stream == "stderr" {
		w = p.Err
	}
	prefix := ""
	if p.Timestamps {
		prefix = line.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " "
	}
	if p.Names {
		prefix += "[" + line.Container + "] "
	}
	_, err := fmt.Fprintln(w, prefix+line.Text)
	return err
}
