package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// logs streams the log of a task: one JSON object per line, or its bare text for Accept: text/plain. The query takes
// container, tail (lines), since (a time stamp, or an age such as 10m) and follow.
func (d *door) logs(w http.ResponseWriter, r *http.Request, task string) error {
	query, err := logQuery(r, task, d.Now())
	if err != nil {
		return err
	}
	stream := &logStream{w: w, control: http.NewResponseController(w), flush: query.Follow}
	stream.plain = strings.HasPrefix(r.Header.Get("Accept"), "text/plain")
	if query.Follow {
		stream.start() // a follower learns at once that the task is there
	}
	ctx, cancel := d.untilClosing(r.Context())
	defer cancel()
	err = d.TaskHost.Logs(ctx, query, stream.emit)
	stream.resetDeadline() // for the end of the answer, however long nothing came
	switch {
	case err == nil:
		stream.start()
	case !stream.started:
		return err
	case r.Context().Err() == nil:
		// The status is sent: only a broken connection can still tell the client that lines are missing.
		d.Log.Warn("a log stream broke off", "requestId", requestID(w), "task", query.Task, "err", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// untilClosing is a context that also ends when the host stops: a stream must not hold that up.
func (d *door) untilClosing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	d.atClosing(ctx, cancel)
	return ctx, cancel
}

// atClosing calls end when the host stops, unless ctx has ended or forget was called before.
func (d *door) atClosing(ctx context.Context, end func()) (forget func()) {
	ctx, forget = context.WithCancel(ctx)
	go func() {
		select {
		case <-d.closing:
			end()
		case <-ctx.Done():
		}
	}()
	return forget
}

// pulls lists how far the image pulls of a task have come.
func (d *door) pulls(w http.ResponseWriter, r *http.Request, task string) error {
	d.reply(w, r, typeJSON, http.StatusOK, append([]spec.Pull{}, d.TaskHost.Pulls(task)...))
	return nil
}

func logQuery(r *http.Request, task string, now time.Time) (query spec.LogQuery, err error) {
	given := r.URL.Query()
	query = spec.LogQuery{Task: task, Container: given.Get("container")}
	if text := given.Get("follow"); text != "" {
		if query.Follow, err = strconv.ParseBool(text); err != nil {
			return query, wire.Errorf(wire.InvalidParameter, "follow must be 1 or 0, not %q.", text)
		}
	}
	if text := given.Get("tail"); text != "" {
		if query.Tail, err = strconv.Atoi(text); err != nil || query.Tail < 1 {
			return query, wire.Errorf(wire.InvalidParameter, "tail must be a number of lines from 1, not %q.", text)
		}
	}
	if text := given.Get("since"); text != "" {
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

// logStream writes lines as they come. It is used by one goroutine.
type logStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	plain   bool
	flush   bool // after each line
	started bool
}

func (s *logStream) start() {
	if s.started {
		return
	}
	s.started = true
	s.resetDeadline()
	s.w.Header().Set("Content-Type", "application/x-ndjson")
	if s.plain {
		s.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	s.w.WriteHeader(http.StatusOK)
	if s.flush {
		_ = s.control.Flush() // a client that is gone is noticed at the next line
	}
}

// resetDeadline gives the client its time anew: a stream may be silent for hours, but what is written must be taken.
func (s *logStream) resetDeadline() { _ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) }

func (s *logStream) emit(line spec.LogLine) error {
	s.start()
	s.resetDeadline()
	if err := s.write(line); err != nil {
		return err
	}
	if !s.flush {
		return nil
	}
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

func (s *logStream) write(line spec.LogLine) error {
	if s.plain {
		_, err := io.WriteString(s.w, line.Text+"\n")
		return err
	}
	return json.NewEncoder(s.w).Encode(line)
}
