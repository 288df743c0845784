package logs

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"pinion/node/logs/record"
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
		if line, whole := c.decode(raw); whole && !line.Time.Before(c.since) {
			c.next = &line
		}
	}
	return c.next, nil
}

// decode reads a record; whole is false for what a crash tore off. What a container wrote that is not UTF-8 becomes U+FFFD.
func (c *cursor) decode(raw []byte) (line spec.LogLine, whole bool) {
	line.Container = c.container
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
