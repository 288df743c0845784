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

// readLog shows a log; following, it goes on after a broken connection where it stopped, without a hole or a line twice.
func (d *desk) readLog(ctx context.Context, q spec.LogQuery, show func(spec.LogLine) error) error {
	if !q.Follow {
		return d.host.Logs(ctx, q, show)
	}
	var place bookmark
	for {
		moved, broke := false, false
		err := d.patiently(ctx, func() error {
			err := d.host.Logs(ctx, place.resume(q), func(line spec.LogLine) error {
				moved = true
				if !place.fresh(line) {
					return nil
				}
				return show(line)
			})
			if broke = moved && errors.Is(err, client.ErrLogBroke); broke {
				return nil // it had come on, so patience starts anew
			}
			return err
		})
		if err != nil || !broke {
			return err
		}
	}
}

// bookmark remembers how far a log was shown: the newest time, and how many lines carried it.
type bookmark struct {
	newest time.Time
	lines  int
	skip   int // lines of the newest time that come again after resuming
}

// resume is the query that goes on at the bookmark; q itself when nothing was shown yet.
func (b *bookmark) resume(q spec.LogQuery) spec.LogQuery {
	if b.lines > 0 {
		q.Since, q.Tail, b.skip = b.newest, 0, b.lines
	}
	return q
}

// fresh reports whether the line was not shown before, and moves the bookmark.
func (b *bookmark) fresh(line spec.LogLine) bool {
	if b.skip > 0 && line.Time.Equal(b.newest) {
		b.skip--
		return false
	}
	switch {
	case line.Time.After(b.newest):
		b.newest, b.lines, b.skip = line.Time, 1, 0
	case line.Time.Equal(b.newest):
		b.lines++
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
