package rest

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

const (
	// maxSearches is how many logs of this host are searched at once; more wait. A search takes a processor for as long as the log is.
	maxSearches = 8
	// maxSearchesPerOwner is how many of them are for one owner of access keys.
	maxSearchesPerOwner = 4
)

// NewSearches makes the turns of those who search logs.
func NewSearches() *httpx.FairSemaphore {
	return httpx.NewFairSemaphore(maxSearches, maxSearchesPerOwner)
}

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
// container, tail (lines), since and until (each a time stamp, or an age such as 10m), grep (a pattern of RE2), invert and follow.
func (a *API) logs(x *httpx.Exchange, taskID string) error {
	query, err := parseLogQuery(x.Request, taskID, a.Now())
	if err != nil {
		return err
	}
	stream := &logStream{StreamWriter: httpx.StreamWriter{Exchange: x, Flush: query.Follow || query.Grep != ""}}
	stream.plain, stream.marks = isPlainText(x.Request), query.Mark
	if query.Follow || query.Grep != "" {
		stream.start() // the client learns at once that the task is there, however long nothing matches
	}
	ctx, cancel := a.Peers.Stop.Context(x.Context())
	defer cancel()
	if isSearch(query) {
		stream.search = a.Searches.Slot(cmp.Or(x.Origin.Owner, x.Principal))
		defer stream.search.Close()
		query.Mark = query.Follow // what comes later is little work
	}
	stream.resume = func() error { return stream.search.Acquire(ctx) }
	if err = stream.resume(); err == nil {
		err = a.Agent.Tasks.Logs(ctx, query, stream.emit)
	}
	stream.search.Close()
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
	default:
		if x.Context().Err() == nil || httpx.KeyRemoved(x.Context()) { // else the client is gone, or this host stops
			x.Log.Warn("a log stream broke off", "requestId", x.ID, "task", query.Task, "error", err)
		}
		// The status is sent: only a broken connection can still tell the client that lines are missing.
		panic(http.ErrAbortHandler)
	}
	return nil
}

// isSearch reports whether a query may read far more than it answers with: lines are left out, or counted for the tail. Lines that continue others
// (awslogs-multiline-pattern) have a tail counted from the first; which log has them is known to the host of the task alone.
func isSearch(q spec.LogQuery) bool { return !q.Filter.IsZero() || q.Tail > 0 }

func isPlainText(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), "text/plain")
}

func parseLogQuery(r *http.Request, taskID string, now time.Time) (query spec.LogQuery, err error) {
	parameters := r.URL.Query()
	query = spec.LogQuery{Task: taskID, Container: parameters.Get("container")}
	for name, into := range map[string]*bool{"follow": &query.Follow, "invert": &query.Invert, "mark": &query.Mark} {
		if text := parameters.Get(name); text != "" {
			if *into, err = strconv.ParseBool(text); err != nil {
				return query, wire.Errorf(wire.InvalidParameter, "%s must be 1 or 0, not %q.", name, text)
			}
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
	for name, into := range map[string]*time.Time{"since": &query.Since, "until": &query.Until} {
		if text := parameters.Get(name); text != "" {
			if *into, err = parseMoment(name, text, now); err != nil {
				return query, err
			}
		}
	}
	query.Grep = parameters.Get("grep")
	if err := query.Check(); err != nil {
		return query, wire.Errorf(wire.InvalidParameter, "grep: %v.", err)
	}
	if query.Mark && (!query.Follow || isPlainText(r)) {
		return query, wire.Errorf(wire.InvalidParameter, "mark is for a log that is followed, as JSON.")
	}
	if query.Follow && !query.Until.IsZero() {
		return query, wire.Errorf(wire.InvalidParameter, "until and follow exclude each other: a followed log ends with its task.")
	}
	return query, nil
}

// parseMoment reads a time stamp, or an age before now.
func parseMoment(name, text string, now time.Time) (time.Time, error) {
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return at, wire.Errorf(wire.InvalidParameter, "%s must be a time such as 2026-01-02T15:04:05Z, or an age such as 10m, not %q.", name, text)
	}
	return at, nil
}

// logStream writes lines as they come, those that are there already together. It is used by one goroutine.
type logStream struct {
	httpx.StreamWriter
	plain bool
	marks bool   // the client gets the mark of LogQuery
	chunk []byte // lines that are not written yet

	search *httpx.FairSlot // that of a search, of what is there when it begins; nil: it is none
	resume func() error    // waits for the turn again, after a pause for the client
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
	if line.Stream == "" { // the mark of LogQuery, which is no line
		s.search.Close()
		if s.marks {
			s.chunk = append(s.chunk, '\n')
		}
		return s.flush()
	}
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
	s.search.Release() // the client sets the pace
	_, err := s.Write(s.chunk)
	s.chunk = s.chunk[:0]
	if err != nil {
		return err
	}
	return s.resume()
}
