package cloudwatchlogs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"pinion/raftfsm/spec"
)

// position is an offset in a stream: the line with the time stamp at that seq lines with the same stamp precede. Lines that a
// container writes at once share a stamp. Stamps do not decrease, unless a host's clock does.
type position struct {
	at  time.Time
	seq int
}

// isZero reports an absent position: as an end it is after all lines, as a beginning before them.
func (p position) isZero() bool { return p.at.IsZero() }

func (p position) compare(q position) int {
	return cmp.Or(p.at.Compare(q.at), cmp.Compare(p.seq, q.seq))
}

// next is the position after this line.
func (p position) next() position { return position{p.at, p.seq + 1} }

// interval is the lines from a position up to another, which is excluded.
type interval struct{ from, to position }

// line is a line of a stream with its position.
type line struct {
	position
	stream string
	text   string
}

// compare orders the lines of several streams: by time first.
func (l line) compare(m line) int {
	return cmp.Or(l.at.Compare(m.at), strings.Compare(l.stream, m.stream), cmp.Compare(l.seq, m.seq))
}

// id is stable for a line and unique in its group: 56 digits, as AWS has them.
func (l line) id() string {
	stream := fnv.New64a()
	_, _ = stream.Write([]byte(l.stream))
	return fmt.Sprintf("%020d%08d%028d", l.at.UnixNano(), l.seq, stream.Sum64())
}

// size is what AWS counts a line towards the size of a response.
func (l line) size() int { return len(l.text) + 26 }

const (
	maxEvents = 10_000  // in one answer
	maxBytes  = 1 << 20 // in one answer, unless it is a single line
)

// errStop is returned by emit to stop a read early.
var errStop = errors.New("enough was read")

// read calls emit for the lines of a stream in an interval, oldest first. errStop from emit ends it without an error. With tail,
// only the last so many lines are read, and the seq of the lines with the first stamp among them is not reliable.
func (c *Request) read(ctx context.Context, s stream, in interval, tail int, emit func(line) error) error {
	if s.since.After(in.from.at) {
		in.from = position{at: s.since}
	}
	query := spec.LogQuery{Task: s.task.ID, Container: s.container, Since: in.from.at, Tail: tail}
	current := line{position: position{seq: -1}, stream: s.name}
	err := c.Logs.Read(ctx, s.task, query, func(l spec.LogLine) error {
		if l.Time.Equal(current.at) {
			current.seq++
		} else {
			current.position = position{at: l.Time}
		}
		current.text = l.Text
		switch {
		case current.position.compare(in.from) < 0:
			return nil
		case !in.to.isZero() && current.position.compare(in.to) >= 0:
			return errStop
		}
		return emit(current)
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}
