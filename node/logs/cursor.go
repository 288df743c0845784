package logs

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"time"

	"pinion/raftfsm/spec"
)

// cursor reads one container's log forward from a position, across rotations, up to the last complete line.
type cursor struct {
	task      *os.Root
	container string
	since     time.Time
	f         *os.File
	in        *bufio.Reader
	partial   []byte        // the beginning of an incomplete last line
	next      *spec.LogLine // read by peek, not yet taken
}

// newCursor starts at the last tail lines; 0 starts at the beginning.
func newCursor(task *os.Root, container string, tail int, since time.Time) (*cursor, error) {
	c := &cursor{task: task, container: container, since: since}
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

// peek returns the next line, or nil when there is none yet.
func (c *cursor) peek() (*spec.LogLine, error) {
	for c.next == nil {
		raw, err := c.readLine()
		if raw == nil || err != nil {
			return nil, err
		}
		var r struct {
			Time        time.Time
			Stream, Log string
		}
		if json.Unmarshal(raw, &r) != nil || r.Time.Before(c.since) {
			continue // torn by a crash, or filtered out
		}
		c.next = &spec.LogLine{Time: r.Time, Container: c.container, Stream: r.Stream, Text: r.Log}
	}
	return c.next, nil
}

// readLine returns the next complete line, nil when there is none yet.
func (c *cursor) readLine() ([]byte, error) {
	for {
		if c.f != nil {
			line, err := c.in.ReadBytes('\n')
			if c.partial != nil {
				line, c.partial = append(c.partial, line...), nil
			}
			if err == nil {
				return line, nil
			}
			if err != io.EOF {
				return nil, err
			}
			if len(line) > 0 {
				c.partial = line
			}
		}
		if more, err := c.advance(); !more || err != nil {
			return nil, err
		}
	}
}
