package logs

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"time"

	"pinion/raftfsm/spec"
)

// cursor reads one container's log from somewhere on, across rotations, as far as it is written.
type cursor struct {
	task      *os.Root
	container string
	since     time.Time
	f         *os.File
	in        *bufio.Reader
	partial   []byte        // a last line that is not complete yet
	next      *spec.LogLine // read, not yet taken
}

// newCursor starts where the last tail lines begin; 0 starts at the beginning.
func newCursor(task *os.Root, container string, tail int, since time.Time) (*cursor, error) {
	c := &cursor{task: task, container: container, since: since}
	if tail == 0 {
		return c, nil
	}
	for index := 0; index <= c.oldest(); index++ {
		offset, missing, err := tailOffset(task, c.name(index), tail)
		if err != nil {
			return nil, err
		}
		if tail = missing; tail == 0 {
			return c, c.openAt(index, offset)
		}
	}
	return c, nil
}

func (c *cursor) openAt(index int, offset int64) error {
	f, err := c.task.Open(c.name(index))
	if err != nil {
		return ignoreMissing(err)
	}
	c.setFile(f)
	_, err = f.Seek(offset, io.SeekStart)
	return err
}

func (c *cursor) close() {
	if c.f != nil {
		c.f.Close()
	}
}

// peek answers the next line, or nil when there is none for now.
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
			continue // torn by a crash, or not asked for
		}
		c.next = &spec.LogLine{Time: r.Time, Container: c.container, Stream: r.Stream, Text: r.Log}
	}
	return c.next, nil
}

// readLine answers the next complete line, nil when there is none for now.
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
