package cloudwatch

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

// place is a place in a stream: before the line that was stamped at and that nth others with the same stamp precede. Lines
// that a container writes at once have one stamp. Stamps do not go back, unless a host's clock does.
type place struct {
	at  time.Time
	nth int
}

// none is no place at all; as an end it is after all lines, as a beginning before them.
func (p place) none() bool { return p.at.IsZero() }

func (p place) compare(q place) int {
	return cmp.Or(p.at.Compare(q.at), cmp.Compare(p.nth, q.nth))
}

// next is the place after this line.
func (p place) next() place { return place{p.at, p.nth + 1} }

// span are the lines from a place on, up to another, which is not in it.
type span struct{ from, to place }

// line is a line of a stream, with its place.
type line struct {
	place
	stream string
	text   string
}

// compare is the order of lines of several streams: by time first.
func (l line) compare(m line) int {
	return cmp.Or(l.at.Compare(m.at), strings.Compare(l.stream, m.stream), cmp.Compare(l.nth, m.nth))
}

// id is the same for the same line whenever it is read, and other lines of the group have others: 56 digits, as AWS's have.
func (l line) id() string {
	stream := fnv.New64a()
	_, _ = stream.Write([]byte(l.stream))
	return fmt.Sprintf("%020d%08d%028d", l.at.UnixNano(), l.nth, stream.Sum64())
}

// size is how the service counts a line towards the size of an answer.
func (l line) size() int { return len(l.text) + 26 }

const (
	maxEvents = 10_000  // in one answer
	maxBytes  = 1 << 20 // in one answer, unless it is a single line
)

// errEnough is how emit ends a reading that it needs no more of.
var errEnough = errors.New("enough was read")

// read calls emit for the lines of a stream in a span, oldest first. When emit returns errEnough, that ends it and is no
// error. With tail, only the last so many lines are read, and the nth of the first stamp among them is not to be relied on.
func (c *Call) read(ctx context.Context, s stream, in span, tail int, emit func(line) error) error {
	query := spec.LogQuery{Task: s.task.ID, Container: s.container, Since: in.from.at, Tail: tail}
	current := line{place: place{nth: -1}, stream: s.name}
	err := c.Logs.Read(ctx, s.task, query, func(l spec.LogLine) error {
		if l.Time.Equal(current.at) {
			current.nth++
		} else {
			current.place = place{at: l.Time}
		}
		current.text = l.Text
		switch {
		case current.place.compare(in.from) < 0:
			return nil
		case !in.to.none() && current.place.compare(in.to) >= 0:
			return errEnough
		}
		return emit(current)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
