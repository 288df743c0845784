package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"pinion/api/cli/client"
	"pinion/raftfsm/spec"
)

// followLog shows a log; following, it goes on after a broken connection where it stopped, without a hole or a line twice.
func (s *session) followLog(ctx context.Context, q spec.LogQuery, show func(spec.LogLine) error) error {
	if !q.Follow {
		return s.client.Logs(ctx, q, show)
	}
	var cursor logCursor
	for {
		progressed, interrupted := false, false
		err := s.retryUnavailable(ctx, func() error {
			err := s.client.Logs(ctx, cursor.resume(q), func(line spec.LogLine) error {
				progressed = true
				if !cursor.advance(line) {
					return nil
				}
				return show(line)
			})
			if interrupted = progressed && errors.Is(err, client.ErrLogInterrupted); interrupted {
				return nil // it had come on, so patience starts anew
			}
			return err
		})
		if err != nil || !interrupted {
			return err
		}
	}
}

// logCursor remembers how far a log was shown: the newest time, and how many lines carried it.
type logCursor struct {
	newest        time.Time
	linesAtNewest int
	skip          int // lines of the newest time that come again after resuming
}

// resume is the query that goes on at the bookmark; q itself when nothing was shown yet.
func (c *logCursor) resume(q spec.LogQuery) spec.LogQuery {
	if c.linesAtNewest > 0 {
		q.Since, q.Tail, c.skip = c.newest, 0, c.linesAtNewest
	}
	return q
}

// advance reports whether the line was not shown before, and moves the bookmark.
func (c *logCursor) advance(line spec.LogLine) bool {
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

// logPrinter writes log lines: what a container wrote to stdout to out, what it wrote to stderr to err.
type logPrinter struct {
	out, err   io.Writer
	timestamps bool
	names      bool // each line says which container it is from
	json       bool // whole lines as JSON, all of them to out
}

func (p logPrinter) print(line spec.LogLine) error {
	if p.json {
		return json.NewEncoder(p.out).Encode(line)
	}
	w := p.out
	if line.Stream == "stderr" {
		w = p.err
	}
	prefix := ""
	if p.timestamps {
		prefix = line.Time.UTC().Format("2006-01-02T15:04:05.000Z") + " "
	}
	if p.names {
		prefix += "[" + line.Container + "] "
	}
	_, err := fmt.Fprintln(w, prefix+line.Text)
	return err
}
