package cloudwatchlogs

import (
	"context"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

type getLogEventsInput struct {
	LogGroupName       string     `json:"logGroupName"`
	LogGroupIdentifier string     `json:"logGroupIdentifier"`
	LogStreamName      string     `json:"logStreamName"`
	StartTime          *wire.Long `json:"startTime"` // ms, included
	EndTime            *wire.Long `json:"endTime"`   // ms, not included
	Limit              *int       `json:"limit"`
	NextToken          string     `json:"nextToken"`
	StartFromHead      bool       `json:"startFromHead"`
	Unmask             bool       `json:"unmask"` // without effect: nothing is masked
}

type getLogEventsOutput struct {
	Events            []outputEvent `json:"events"`
	NextForwardToken  string        `json:"nextForwardToken"`
	NextBackwardToken string        `json:"nextBackwardToken"`
}

// outputEvent is a line on the wire. A line can be read as soon as it is written, so both times are equal.
type outputEvent struct {
	Timestamp     int64  `json:"timestamp"` // ms
	Message       string `json:"message"`
	IngestionTime int64  `json:"ingestionTime"` // ms
}

// getLogEvents reads one stream page by page in either direction: the earliest lines with startFromHead, else the latest,
// and from there on with the tokens. At an end of the stream the token of that direction is the one that was sent.
func (c *Request) getLogEvents(ctx context.Context, in *getLogEventsInput) (*getLogEventsOutput, error) {
	group, err := parseGroup(in.LogGroupName, in.LogGroupIdentifier)
	if err != nil {
		return nil, err
	}
	most, err := parseLimit(in.Limit, maxEvents)
	if err != nil {
		return nil, err
	}
	whole, err := parseInterval(in.StartTime, in.EndTime, 0)
	if err != nil {
		return nil, err
	}
	forward, at, err := parseNextToken(in.NextToken)
	if err != nil {
		return nil, err
	}
	s, err := c.stream(group, in.LogStreamName)
	if err != nil {
		return nil, err
	}
	forward = forward || at.isZero() && in.StartFromHead
	lines, err := c.readPage(ctx, s, whole.clip(at, forward), forward, most)
	if err != nil {
		return nil, errUnavailable(s, err)
	}
	return newEventsOutput(lines, whole, at), nil
}

// clip is the part of an interval before or after a position.
func (s interval) clip(at position, forward bool) interval {
	switch {
	case at.isZero():
	case forward && at.compare(s.from) > 0:
		s.from = at
	case !forward && (s.to.isZero() || at.compare(s.to) < 0):
		s.to = at
	}
	return s
}

func newEventsOutput(lines []line, whole interval, at position) *getLogEventsOutput {
	first, last := at, at
	if at.isZero() {
		first, last = whole.from, whole.from
	}
	out := &getLogEventsOutput{Events: []outputEvent{}}
	for i, l := range lines {
		if i == 0 {
			first = l.position
		}
		last = l.next()
		out.Events = append(out.Events, outputEvent{l.at.UnixMilli(), l.text, l.at.UnixMilli()})
	}
	out.NextForwardToken, out.NextBackwardToken = formatNextToken("f", last), formatNextToken("b", first)
	return out
}

// readPage returns the earliest lines of an interval, or the latest.
func (c *Request) readPage(ctx context.Context, s stream, in interval, earliest bool, most int) ([]line, error) {
	page := &page{limit: most}
	if earliest {
		err := c.read(ctx, s, in, 0, page.append)
		return page.lines, err
	}
	if in.to.isZero() {
		if lines, found, err := c.readLatest(ctx, s, in, most); found || err != nil {
			return lines, err
		}
	}
	err := c.read(ctx, s, in, 0, page.keepLast)
	return page.lines, err
}

// sameTimestampMargin is how many lines of one time stamp a read from the end of a stream allows for, as far as MaxLogTail
// lets it.
const sameTimestampMargin = 4096

// readLatest reads the last lines of an interval without an end, and not all of it. found is false when the part that was read
// has lines of a single time stamp: then their positions are unknown.
func (c *Request) readLatest(ctx context.Context, s stream, in interval, most int) (lines []line, found bool, err error) {
	page := &page{limit: most}
	tail, seen := min(most+sameTimestampMargin, spec.MaxLogTail), 0
	var begin time.Time
	err = c.read(ctx, s, in, tail, func(l line) error {
		if seen++; seen == 1 {
			begin = l.at
		}
		return page.keepLast(l)
	})
	if seen < tail {
		return page.lines, true, err // that was all
	}
	for len(page.lines) > 0 && page.lines[0].at.Equal(begin) {
		page.lines = page.lines[1:]
	}
	return page.lines, len(page.lines) > 0, err
}

// parseInterval is the interval between two times in milliseconds, the later one included when inclusive is 1.
func parseInterval(start, end *wire.Long, inclusive wire.Long) (interval, error) {
	var s interval
	for _, moment := range []*wire.Long{start, end} {
		if moment != nil && (*moment < 0 || *moment > maxMillis) {
			return s, wire.Errorf(wire.InvalidParameter, "%d is not a time in milliseconds since 1970.", *moment)
		}
	}
	if start != nil && *start > 0 {
		s.from.at = time.UnixMilli(int64(*start)).UTC()
	}
	if end != nil {
		s.to.at = time.UnixMilli(int64(*end + inclusive)).UTC()
	}
	return s, nil
}

// maxMillis is the last millisecond whose nanoseconds fit 64 bits: in the year 2262.
const maxMillis = (1<<63 - 1) / 1_000_000

// errUnavailable is for a stream whose host cannot read it now.
func errUnavailable(s stream, err error) error {
	return wire.Errorf(Unavailable, "The log stream %s cannot be read now: %v. Try again.", s.name, err)
}
