package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// ErrEventsInterrupted is wrapped by the error of an event stream that was cut off. The events received so far are
// complete; a query with Since set to the last id resumes the stream, at any host.
var ErrEventsInterrupted = errors.New("event stream interrupted")

// EventQuery selects events.
type EventQuery struct {
	Cluster string // name of a cluster; empty: all
	Task    string // id of a task: only its changes; empty: all
	Types   string // of task, host, cluster, gpu, leader, refusal, with commas between; empty: all but refusal
	Since   string // events after this event id, or index; empty: from now on with Follow, else from the oldest
	Follow  bool   // wait for more until ctx ends; otherwise only the events that the host still has
}

// Event is a state change of a task, host, cluster, GPU or leader, or a refusal.
type Event struct {
	ID   string          // for EventQuery.Since
	Type string          // task, host, cluster, gpu, leader or refusal; empty: a heartbeat that only carries an ID
	Data json.RawMessage // EventBridge's envelope
}

// Events calls emit for each event, and now and then for a heartbeat. It returns when there are no more events, or with
// the first error of emit.
func (c *Client) Events(ctx context.Context, q EventQuery, emit func(Event) error) error {
	parameters := url.Values{}
	for name, value := range map[string]string{"cluster": q.Cluster, "task": q.Task, "type": q.Types, "since": q.Since} {
		if value != "" {
			parameters.Set(name, value)
		}
	}
	if !q.Follow {
		parameters.Set("follow", "false")
	}
	response, err := c.transport.get(ctx, "/v1/events", parameters)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	err = readEvents(response.Body, emit)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF) && q.Follow:
		return fmt.Errorf("%w: the host ended it", ErrEventsInterrupted)
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// readEvents reads server-sent events until they end, which is io.EOF.
func readEvents(r io.Reader, emit func(Event) error) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var event Event
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line == "" {
			return io.EOF
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrEventsInterrupted, err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			event.ID = value
		case "event":
			event.Type = value
		case "data":
			event.Data = json.RawMessage(value)
		case "":
			if err := emitEvent(event, emit); err != nil {
				return err
			}
			event = Event{}
		}
	}
}

// emitEvent emits an event. The event "end" is the last of a stream that the host ends, with the reason as an error.
func emitEvent(event Event, emit func(Event) error) error {
	if event.Type != "end" {
		return emit(event)
	}
	var why APIError
	if err := json.Unmarshal(event.Data, &struct {
		Type    *string `json:"__type"`
		Message *string `json:"message"`
	}{&why.Type, &why.Message}); err != nil {
		return fmt.Errorf("%w: %w", ErrEventsInterrupted, err)
	}
	if why.Type == "ServerException" {
		return fmt.Errorf("%w: %s", ErrEventsInterrupted, why.Message)
	}
	return &why
}
