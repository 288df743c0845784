package cloudwatchlogs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pinion/api/wire"
)

type describeLogStreamsInput struct {
	paging
	LogGroupName        string `json:"logGroupName"`
	LogGroupIdentifier  string `json:"logGroupIdentifier"`
	LogStreamNamePrefix string `json:"logStreamNamePrefix"`
	OrderBy             string `json:"orderBy"`
	Descending          bool   `json:"descending"`
}

type describeLogStreamsOutput struct {
	LogStreams []logStream `json:"logStreams"`
	NextToken  string      `json:"nextToken,omitempty"`
}

// logStream is a stream on the wire. storedBytes is always 0, as AWS has it. The times of events are absent while there are none,
// or while the host is unreachable.
type logStream struct {
	ARN                 string `json:"arn"`
	CreationTime        int64  `json:"creationTime"` // ms, of the task
	FirstEventTimestamp int64  `json:"firstEventTimestamp,omitempty"`
	LastEventTimestamp  int64  `json:"lastEventTimestamp,omitempty"`
	LastIngestionTime   int64  `json:"lastIngestionTime,omitempty"`
	LogStreamName       string `json:"logStreamName"`
	StoredBytes         int64  `json:"storedBytes"`
}

const (
	byName = "LogStreamName"
	byTime = "LastEventTime"
)

func (c *Request) describeLogStreams(ctx context.Context, in *describeLogStreamsInput) (*describeLogStreamsOutput, error) {
	group, err := parseGroup(in.LogGroupName, in.LogGroupIdentifier)
	if err != nil {
		return nil, err
	}
	order := cmp.Or(in.OrderBy, byName)
	switch {
	case order != byName && order != byTime:
		return nil, wire.Errorf(wire.InvalidParameter, "orderBy must be %s or %s, not %q.", byName, byTime, in.OrderBy)
	case order == byTime && in.LogStreamNamePrefix != "":
		return nil, wire.Errorf(wire.InvalidParameter, "Cannot order by LastEventTime with a logStreamNamePrefix.")
	}
	streams, err := c.streams(group)
	if err != nil {
		return nil, err
	}
	streams = slices.DeleteFunc(streams, func(s stream) bool { return !strings.HasPrefix(s.name, in.LogStreamNamePrefix) })
	key := func(s stream) string { return s.name }
	if order == byTime {
		key = stream.activityKey
	}
	slices.SortFunc(streams, func(a, b stream) int {
		if in.Descending {
			a, b = b, a
		}
		return strings.Compare(key(a), key(b))
	})
	page, next, err := paginate(in.paging, streams, in.Descending, key)
	if err != nil {
		return nil, err
	}
	return &describeLogStreamsOutput{LogStreams: c.describeStreams(ctx, group, page), NextToken: next}, nil
}

// activityKey orders streams by their last event, as far as the state tells it: first those of stopped tasks, by when they
// stopped, then those of other tasks, by when they were created.
func (s stream) activityKey() string {
	if ended := s.task.Times.Stopped; !ended.IsZero() {
		return fmt.Sprintf("0/%019d/%s", ended.UnixNano(), s.name)
	}
	return fmt.Sprintf("1/%019d/%s", s.task.CreatedAt.UnixNano(), s.name)
}

// describeStreams asks the hosts of the streams for the times of their first and last lines.
func (c *Request) describeStreams(ctx context.Context, group string, streams []stream) []logStream {
	described := make([]logStream, len(streams))
	problems := make([]error, len(streams))
	var readers errgroup.Group
	readers.SetLimit(maxReaders)
	for i, s := range streams {
		described[i] = logStream{ARN: c.groupARN(group) + ":log-stream:" + s.name, CreationTime: s.task.CreatedAt.UnixMilli(), LogStreamName: s.name}
		readers.Go(func() error {
			problems[i] = c.eventTimes(ctx, s, &described[i])
			return nil
		})
	}
	_ = readers.Wait()
	for i, err := range problems {
		if err != nil {
			c.warn("When the stream %s was written cannot be told: %v", streams[i].name, err)
		}
	}
	return described
}

func (c *Request) eventTimes(ctx context.Context, s stream, into *logStream) error {
	first := func(l line) error { into.FirstEventTimestamp = l.at.UnixMilli(); return errStop }
	if err := c.read(ctx, s, interval{}, 0, first); err != nil || into.FirstEventTimestamp == 0 {
		return err
	}
	return c.read(ctx, s, interval{}, 1, func(l line) error {
		into.LastEventTimestamp, into.LastIngestionTime = l.at.UnixMilli(), l.at.UnixMilli()
		return nil
	})
}
