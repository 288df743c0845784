package logs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"pinion/node/logs/record"
	"pinion/raftfsm/spec"
)

// cursor reads one container's log forward from a position, across rotations, up to the last complete line.
type cursor struct {
	task      *os.Root
	container string    // as its files are named
	shown     string    // as its lines are
	since     time.Time // where to begin to read
	chosen    selection
	records   *multilineAssembler // nil: each line is a record
	f         *os.File
	in        *bufio.Reader
	partial   []byte        // the beginning of an incomplete last line
	next      *spec.LogLine // read by peek, not yet taken
}

// newCursor starts at the last tail lines, 0 at the beginning. Where lines are left out or put together, a tail is counted by the query.
func newCursor(task *os.Root, container string, tail int, chosen selection) (*cursor, error) {
	records, err := newMultilineAssembler(task, container)
	if err != nil {
		return nil, err
	}
	c := &cursor{task: task, container: container, shown: strings.TrimSuffix(container, forwardSuffix), since: chosen.since, chosen: chosen, records: records}
	if records != nil && !c.since.IsZero() {
		c.since = c.since.Add(-recordLookback)
	}
	if c.isSelective() {
		tail = 0
	}
	if err := c.seekTail(tail); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *cursor) close() {
	if c.f != nil {
		c.f.Close()
	}
}

// isSelective reports whether the records of the query are not the last lines of the files.
func (c *cursor) isSelective() bool { return c.records != nil || c.chosen.isSelective }

// peek returns the next record of the query, or nil when there is none yet. With last, no more lines are to come. It ends with the context.
func (c *cursor) peek(ctx context.Context, last bool) (*spec.LogLine, error) {
	for c.next == nil {
		line, err := c.nextRecord(last)
		if line == nil || err != nil || c.chosen.isOver(line) {
			return nil, err
		}
		if c.chosen.has(line) {
			c.next = line
		} else if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return c.next, nil
}

// nextRecord returns the next record, or nil when there is no whole one yet.
func (c *cursor) nextRecord(last bool) (*spec.LogLine, error) {
	for {
		line, err := c.nextLine()
		if err != nil || c.records == nil {
			return line, err
		}
		if line == nil {
			return c.records.rest(last), nil
		}
		if record := c.records.add(line); record != nil {
			return record, nil
		}
	}
}

// nextLine returns the next line of the files, or nil when there is none yet.
func (c *cursor) nextLine() (*spec.LogLine, error) {
	for {
		raw, err := c.readLine()
		if raw == nil || err != nil {
			return nil, err
		}
		if line, whole := c.decode(raw); whole {
			return &line, nil
		}
	}
}

// decode reads a record; whole is false for what a crash tore off. What a container wrote that is not UTF-8 becomes U+FFFD.
func (c *cursor) decode(raw []byte) (line spec.LogLine, whole bool) {
	line.Container = c.shown
	if r, whole := record.Parse(raw); whole {
		line.Time, line.Stream, line.Text = r.Time, r.Stream, string(r.Text)
		if !utf8.ValidString(line.Text) {
			line.Text = string([]rune(line.Text))
		}
		return line, true
	}
	if !record.IsJSON(raw) {
		return line, false
	}
	var older struct {
		Time        time.Time
		Stream, Log string
	}
	if json.Unmarshal(raw, &older) != nil {
		return line, false
	}
	line.Time, line.Stream, line.Text = older.Time, older.Stream, older.Log
	return line, true
}

// readLine returns the next complete line, nil when there is none yet. It is valid until the next call.
func (c *cursor) readLine() ([]byte, error) {
	for {
		if c.f != nil {
			line, err := c.in.ReadSlice('\n')
			if err == nil && len(c.partial) == 0 {
				return line, nil
			}
			c.partial = append(c.partial, line...)
			switch {
			case err == nil:
				line, c.partial = c.partial, nil
				return line, nil
			case errors.Is(err, bufio.ErrBufferFull):
				continue
			case err != io.EOF:
				return nil, err
			}
		}
		if more, err := c.advance(); !more || err != nil {
			return nil, err
		}
	}
}
