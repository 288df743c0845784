package rest

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// lineView is one line of a task's log.
type lineView struct {
	Time      time.Time `json:"time"`
	Container string    `json:"container"`
	Stream    string    `json:"stream"` // stdout or stderr
	Text      string    `json:"text"`   // without the line end
}

// pull is the progress of one image pull.
type pull struct {
	Image string `json:"image"`
	Done  int64  `json:"done"`  // bytes here
	Total int64  `json:"total"` // bytes in all, 0 while unknown
}

// pulls lists how far the image pulls of a task have come.
func (a *API) pulls(x *httpx.Exchange, taskID string) error {
	views := []pull{}
	for _, p := range a.Agent.Tasks.Pulls(taskID) {
		views = append(views, pull{Image: p.Image, Done: p.Done, Total: p.Total})
	}
	return reply(x, views)
}

// logs streams the log of a task: one JSON object on each line, or its bare text for Accept: text/plain. The query takes
// container, tail (lines), since (a time stamp, or an age such as 10m) and follow.
func (a *API) logs(x *httpx.Exchange, taskID string) error {
	query, err := parseLogQuery(x.Request, taskID, a.Now())
	if err != nil {
		return err
	}
	stream := &logStream{StreamWriter: httpx.StreamWriter{Exchange: x, Flush: query.Follow}}
	stream.plain = strings.HasPrefix(x.Request.Header.Get("Accept"), "text/plain")
	if query.Follow {
		stream.start() // the client learns at once that the task is there
	}
	ctx, cancel := a.Peers.Stop.Context(x.Context())
	defer cancel()
	err = a.Agent.Tasks.Logs(ctx, query, stream.emit)
	if flushErr := stream.flush(); err == nil {
		err = flushErr
	}
	if err == nil && httpx.KeyRemoved(x.Context()) {
		err = context.Cause(x.Context()) // or the log would look complete
	}
	stream.ResetDeadline() // for the end of the response, however long nothing came
	switch {
	case err == nil:
		stream.start()
	case !x.Wrote():
		return err
	case x.Context().Err() == nil, httpx.KeyRemoved(x.Context()):
		// The status is sent: only a broken connection can still tell the client that lines are missing.
		x.Log.Warn("a log stream broke off", "requestId", x.ID, "task", query.Task, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

func parseLogQuery(r *http.Request, taskID string, now time.Time) (query spec.LogQuery, err error) {
	parameters := r.URL.Query()
	query = spec.LogQuery{Task: taskID, Container: parameters.Get("container")}
	if text := parameters.Get("follow"); text != "" {
		if query.Follow, err = strconv.ParseBool(text); err != nil {
			return query, wire.Errorf(wire.InvalidParameter, "follow must be 1 or 0, not %q.", text)
		}
	}
	if text := parameters.Get("tail"); text != "" {
		if query.Tail, err = strconv.Atoi(text); err != nil || query.Tail < 1 {
			return query, wire.Errorf(wire.InvalidParameter, "tail must be a number of lines from 1, not %q.", text)
		}
		if query.Tail > spec.MaxLogTail {
			return query, wire.Errorf(wire.InvalidParameter, "tail may be %d lines, not %d: for more, leave it out or read from a moment on with since.", spec.MaxLogTail, query.Tail)
		}
	}
	if text := parameters.Get("since"); text != "" {
		if query.Since, err = parseSince(text, now); err != nil {
			return query, err
		}
	}
	return query, nil
}

// parseSince reads a time stamp, or an age before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, wire.Errorf(wire.InvalidParameter, "since must be a time such as 2026-01-02T15:04:05Z, or an age such as 10m, not %q.", text)
	}
	return at, nil
}

// logStream writes lines as they come, those that are there already together. It is used by one goroutine.
type logStream struct {
	httpx.StreamWriter
	plain bool
	chunk []byte // lines that are not written yet
}

// chunkSize is when a chunk is written although there are more lines.
const chunkSize = 32 << 10

func (s *logStream) start() {
	if s.Exchange.Wrote() {
		return
	}
	kind := "application/x-ndjson"
	if s.plain {
		kind = "text/plain; charset=utf-8"
	}
	s.Exchange.Header().Set("Content-Type", kind)
	s.Start(http.StatusOK)
}

func (s *logStream) emit(line spec.LogLine) error {
	var err error
	if s.plain {
		s.chunk = append(append(s.chunk, line.Text...), '\n')
	} else if s.chunk, err = appendLine(s.chunk, line); err != nil {
		return err
	}
	if line.More && len(s.chunk) < chunkSize {
		return nil
	}
	return s.flush()
}

func (s *logStream) flush() error {
	if len(s.chunk) == 0 {
		return nil
	}
	s.start()
	_, err := s.Write(s.chunk)
	s.chunk = s.chunk[:0]
	return err
}
