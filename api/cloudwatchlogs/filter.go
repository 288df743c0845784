package cloudwatchlogs

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"pinion/api/wire"
)

type filterLogEventsInput struct {
	LogGroupName        string     `json:"logGroupName"`
	LogGroupIdentifier  string     `json:"logGroupIdentifier"`
	LogStreamNames      []string   `json:"logStreamNames"`
	LogStreamNamePrefix string     `json:"logStreamNamePrefix"`
	StartTime           *wire.Long `json:"startTime"` // ms, included
	EndTime             *wire.Long `json:"endTime"`   // ms, included
	FilterPattern       string     `json:"filterPattern"`
	Limit               *int       `json:"limit"`
	NextToken           string     `json:"nextToken"`
	Interleaved         bool       `json:"interleaved"` // without effect: streams are always merged by time, as AWS does today
	Unmask              bool       `json:"unmask"`      // without effect: nothing is masked
}

type filterLogEventsOutput struct {
	Events             []filteredEvent  `json:"events"`
	SearchedLogStreams []searchedStream `json:"searchedLogStreams"`
	NextToken          string           `json:"nextToken,omitempty"`
}

// filteredEvent is a line on the wire with the name of its stream.
type filteredEvent struct {
	LogStreamName string `json:"logStreamName"`
	outputEvent
	EventID string `json:"eventId"`
}

// searchedStream is a stream that could not be searched. AWS keeps this list empty today.
type searchedStream struct {
	LogStreamName      string `json:"logStreamName"`
	SearchedCompletely bool   `json:"searchedCompletely"`
}

// maxSearchedStreams is how many streams one response covers. Those of a larger group come page by page, by name.
const maxSearchedStreams = 100

// filterLogEvents reads all streams of a group, or some of them, as one, merged by time.
func (c *Request) filterLogEvents(ctx context.Context, in *filterLogEventsInput) (*filterLogEventsOutput, error) {
	search, err := c.newSearch(in)
	if err != nil {
		return nil, err
	}
	group, err := parseGroup(in.LogGroupName, in.LogGroupIdentifier)
	if err != nil {
		return nil, err
	}
	token, err := parseSearchNextToken(in.NextToken)
	if err != nil {
		return nil, err
	}
	streams, err := c.selectStreams(group, in, search.interval)
	if err != nil {
		return nil, err
	}
	first, _ := slices.BinarySearchFunc(streams, token.First, func(s stream, name string) int { return strings.Compare(s.name, name) })
	streams = streams[first:]
	if token.At != 0 {
		search.resumeAt = line{position: position{time.Unix(0, token.At).UTC(), token.Nth}, stream: token.Stream}
	}
	now := nextBatch(streams, token.Last)
	if err := search.run(ctx, c, now); err != nil {
		return nil, err
	}
	out := search.output()
	switch {
	case search.truncatedAt != nil:
		out.NextToken = searchNextToken{token.First, now[len(now)-1].name, search.truncatedAt.at.UnixNano(), search.truncatedAt.stream, search.truncatedAt.seq}.String()
	case len(now) < len(streams):
		out.NextToken = searchNextToken{First: streams[len(now)].name}.String()
	}
	return out, nil
}

func (c *Request) newSearch(in *filterLogEventsInput) (*search, error) {
	most, err := parseLimit(in.Limit, maxEvents)
	if err != nil {
		return nil, err
	}
	span, err := parseInterval(in.StartTime, in.EndTime, 1)
	if err != nil {
		return nil, err
	}
	pattern, err := parsePattern(in.FilterPattern)
	if err != nil {
		return nil, err
	}
	return &search{interval: span, pattern: pattern, page: page{limit: most}}, nil
}

// clockSkew is how far the clocks of two hosts may differ when the life of a task is compared with an interval.
const clockSkew = time.Minute

// selectStreams returns the streams of a search, without those of tasks that did not run in the interval.
func (c *Request) selectStreams(group string, in *filterLogEventsInput, when interval) ([]stream, error) {
	if len(in.LogStreamNames) > 0 && in.LogStreamNamePrefix != "" {
		return nil, wire.Errorf(wire.InvalidParameter, "logStreamNames and logStreamNamePrefix are mutually exclusive: give one of them.")
	}
	if len(in.LogStreamNames) > 100 {
		return nil, wire.Errorf(wire.InvalidParameter, "logStreamNames may have 100 names, not %d.", len(in.LogStreamNames))
	}
	streams, err := c.streamsByName(group, in.LogStreamNames)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(streams, func(s stream) bool {
		ended := s.task.Times.Stopped
		return !strings.HasPrefix(s.name, in.LogStreamNamePrefix) ||
			!ended.IsZero() && ended.Add(clockSkew).Before(when.from.at) ||
			!when.to.isZero() && s.begin().Add(-clockSkew).After(when.to.at)
	}), nil
}

// begin is a time before the first line, by the clock of the host that stamps it as soon as that host has reported one.
func (s stream) begin() time.Time {
	if begun := s.task.Times.PullStarted; !begun.IsZero() {
		return begun
	}
	return s.task.CreatedAt
}

// streamsByName returns the streams of a group with these names; all of them without names.
func (c *Request) streamsByName(group string, names []string) ([]stream, error) {
	if len(names) == 0 {
		return c.streams(group)
	}
	var streams []stream
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		s, err := c.stream(group, name)
		if err != nil {
			return nil, err
		}
		streams = append(streams, s)
	}
	return streams, nil
}

// nextBatch returns the streams to read now: up to maxSearchedStreams, or up to the last one of the batch that a token
// continues.
func nextBatch(streams []stream, last string) []stream {
	if last == "" {
		return streams[:min(len(streams), maxSearchedStreams)]
	}
	if end := slices.IndexFunc(streams, func(s stream) bool { return s.name > last }); end >= 0 {
		return streams[:end]
	}
	return streams
}

// searchNextToken is where a search continues: in the streams from First to Last that exist by then, at the first line that is not
// before this one.
type searchNextToken struct {
	First  string `json:"f,omitempty"`
	Last   string `json:"l,omitempty"`
	At     int64  `json:"t,omitempty"` // ns since 1970
	Stream string `json:"s,omitempty"`
	Nth    int    `json:"n,omitempty"`
}

func (t searchNextToken) String() string {
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // text and numbers: there is nothing to fail
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseSearchNextToken(text string) (t searchNextToken, err error) {
	if text == "" {
		return t, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &t) != nil || t.At < 0 || t.Nth < 0 {
		return t, errInvalidNextToken()
	}
	return t, nil
}
