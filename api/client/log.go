package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"
)

// ErrLogInterrupted is wrapped by the error of a log stream that was cut off. The lines received so far are complete.
var ErrLogInterrupted = errors.New("log stream interrupted")

// LogQuery selects lines of a task's log.
type LogQuery struct {
	Task      string    // its id
	Container string    // name of a container; empty: all, merged by time
	Since     time.Time // zero: from the beginning
	Until     time.Time // only lines before; zero: to the end
	Grep      string    // only lines with a match of this pattern of RE2, at most 1024 bytes; the host of the task matches them; empty: all
	Invert    bool      // only lines without a match of Grep
	Tail      int       // only the last n of the lines that are there; 0: all
	Follow    bool      // wait for more, until the task has stopped
	Mark      bool      // with Follow: emit a line that is a Mark when all has come that was there
}

// LogLine is one line that a container wrote.
type LogLine struct {
	Time      time.Time `json:"time"`
	Container string    `json:"container"`
	Stream    string    `json:"stream"` // "stdout" or "stderr"
	Text      string    `json:"text"`   // without the line end; of a record of several lines with those between
	Mark      bool      `json:"-"`      // no line of a container, see LogQuery
	More      bool      `json:"-"`      // the next line has arrived already: both may be written at once
}

// Pull is the progress of an image pull.
type Pull struct {
	Image string `json:"image"`
	Done  int64  `json:"done"`  // bytes received
	Total int64  `json:"total"` // bytes in all, 0 while unknown
}

// Logs calls emit for each line of a task's log, the oldest first. With Follow it returns when the task has stopped. It
// returns the first error of emit.
func (c *Client) Logs(ctx context.Context, q LogQuery, emit func(LogLine) error) error {
	response, err := c.transport.get(ctx, "/v1/tasks/"+url.PathEscape(q.Task)+"/logs", logParameters(q))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for lines := newLogReader(response.Body); ; {
		line, err := lines.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("%w: %w", ErrLogInterrupted, err)
		}
		if err := emit(line); err != nil {
			return err
		}
	}
}

func logParameters(q LogQuery) url.Values {
	parameters := url.Values{}
	if q.Follow {
		parameters.Set("follow", "1")
	}
	if q.Mark {
		parameters.Set("mark", "1")
	}
	if q.Container != "" {
		parameters.Set("container", q.Container)
	}
	if q.Tail > 0 {
		parameters.Set("tail", strconv.Itoa(q.Tail))
	}
	if !q.Since.IsZero() {
		parameters.Set("since", q.Since.UTC().Format(time.RFC3339Nano))
	}
	if !q.Until.IsZero() {
		parameters.Set("until", q.Until.UTC().Format(time.RFC3339Nano))
	}
	if q.Grep != "" {
		parameters.Set("grep", q.Grep)
	}
	if q.Invert {
		parameters.Set("invert", "1")
	}
	return parameters
}

// PullProgress returns the image pulls of a task that are in progress.
func (c *Client) PullProgress(ctx context.Context, task string) ([]Pull, error) {
	var pulls []Pull
	err := c.Get(ctx, "/v1/tasks/"+url.PathEscape(task)+"/pulls", nil, &pulls)
	return pulls, err
}
