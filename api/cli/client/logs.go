package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"

	"pinion/raftfsm/spec"
)

// ErrLogInterrupted is wrapped by the error of a log stream that ended before its end; the lines until then are good.
var ErrLogInterrupted = errors.New("log stream broke off")

// Logs calls emit for each line of a task's log, oldest first. Following, it returns when the task is over. An error
// of emit ends it and is returned.
func (c *Client) Logs(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
	response, err := c.openStream(ctx, "/v1/tasks/"+url.PathEscape(q.Task)+"/logs", logParameters(q))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	for lines := json.NewDecoder(response.Body); ; {
		var line spec.LogLine
		switch err := lines.Decode(&line); {
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

func logParameters(q spec.LogQuery) url.Values {
	parameters := url.Values{}
	if q.Follow {
		parameters.Set("follow", "1")
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
	return parameters
}

// PullProgress tells how far the image pulls of a task have come; empty when none is under way.
func (c *Client) PullProgress(ctx context.Context, task string) ([]spec.Pull, error) {
	var pulls []spec.Pull
	err := c.Get(ctx, "/v1/tasks/"+url.PathEscape(task)+"/pulls", nil, &pulls)
	return pulls, err
}
