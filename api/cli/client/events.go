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

// ErrEventsInterrupted is wrapped by the error of a stream of events that ended though it should not have: the events until then
// are good, and it can go on after the last one.
var ErrEventsInterrupted = errors.New("event stream broke off")

// EventQuery says which events to tell.
type EventQuery struct {
	Cluster string // empty: all
	Types   string // task, host, cluster, gpu, with commas between; empty: all
	Since   string // the id of an event, or an index; empty: from now on, or from the oldest on
	Follow  bool   // go on until ctx ends; otherwise only what the host remembers
}

// Event is something that has changed.
type Event struct {
	ID   string          // to go on after; an event without a type has nothing else
	Type string          // task, host, cluster or gpu
	Data json.RawMessage // EventBridge's envelope
}

// Events calls emit for each event, and now and then for a mere id to go on after. It returns when there is nothing more to
// tell, or with the error of emit.
func (c *Client) Events(ctx context.Context, q EventQuery, emit func(Event) error) error {
	parameters := url.Values{}
	for name, value := range map[string]string{"cluster": q.Cluster, "type": q.Types, "since": q.Since} {
		if value != "" {
			parameters.Set(name, value)
		}
	}
	if !q.Follow {
		parameters.Set("follow", "false")
	}
	response, err := c.openStream(ctx, "/v1/events", parameters)
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

// emitEvent emits an event; the last one of a stream that the host ends is the reason.
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
