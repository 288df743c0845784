package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"pinion/api/audit"
	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const (
	// minFlushEvery is the shortest time between two looks of a stream at what is new. Changes that come together are written
	// together: hundreds of clients of a busy pool would otherwise cost a system call for each change and client.
	minFlushEvery = 25 * time.Millisecond
	// flushSize is the size from which a chunk is written.
	flushSize = 32 << 10
	// clientTimeout is how long a client may take for a chunk before it is disconnected.
	clientTimeout = 15 * time.Second
	// heartbeatEvery is how often a silent stream says that it lives, and up to which id it has come.
	heartbeatEvery = 15 * time.Second
	// batchMax is how many changes are read at once.
	batchMax = 1024
)

// endEvent is the kind of the last event of a stream that this host ends: its data is an error, which says why.
const endEvent = "end"

// stream is one stream of events. It is used by one goroutine.
type stream struct {
	handler   *Handler
	x         *httpx.Exchange
	control   *http.ResponseController
	principal auth.Principal
	view      *raftfsm.View
	query     *query
	at        raftfsm.Position  // everything up to here was sent, or does not match the query
	refusals  <-chan audit.Line // nil unless the query asks for them
	started   bool
	sent      bool // the last changes that were read had some that match the query
	chunk     []byte
}

// run sends changes until ctx ends. It returns an error only before the response has begun; later the stream itself says why
// it ends. A client that does not read is disconnected: it can resume where it was.
func (s *stream) run(ctx context.Context) error {
	err := s.sendAll(ctx)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.x.Log.Info("a client of events does not read, and is disconnected", "requestId", s.x.ID, "principal", s.principal.ARN)
		panic(http.ErrAbortHandler)
	case errors.As(err, new(*clientGoneError)):
		return nil
	case !s.started:
		return errCompacted(err)
	case err != nil:
		s.end(errCompacted(err))
	}
	return nil
}

// sendAll sends what is new, and waits for more.
func (s *stream) sendAll(ctx context.Context) error {
	for {
		changes, more, err := s.read()
		if err == nil && !s.started {
			err = s.start()
		}
		if err == nil {
			err = s.send(changes)
		}
		switch {
		case err != nil:
			return err
		case len(changes) == batchMax:
			continue
		case !s.query.follow:
			return nil
		case s.sent && s.query.task != "":
			// A task has few changes, and who follows one waits for each of them.
		case len(changes) > 0:
			err = s.wait(ctx, nil, minFlushEvery)
		default:
			err = s.waitForMore(ctx, more)
		}
		if err != nil {
			return err
		}
	}
}

// read returns what is new. It ends a stream whose key was removed.
func (s *stream) read() ([]*raftfsm.Change, <-chan struct{}, error) {
	history := s.handler.History
	changes, more, err := history.Changes(s.at, batchMax)
	if first, ok := errors.AsType[*raftfsm.CompactedError](err); ok && s.query.oldest {
		s.at = first.Oldest
		changes, more, err = history.Changes(s.at, batchMax)
	}
	if err != nil {
		return nil, nil, err
	}
	s.query.oldest = false
	if s.view, err = s.handler.Local.StaleView(); err != nil {
		return nil, nil, err
	}
	if s.principal.KeyID != "" && s.view.AccessKey(s.principal.KeyID) == nil {
		return nil, nil, auth.ErrKeyRemoved(s.principal.KeyID)
	}
	return changes, more, nil
}

// start begins the response: a client learns at once that it is subscribed, and where it would resume.
func (s *stream) start() error {
	s.started = true
	s.x.Header().Set("Content-Type", "text/event-stream")
	s.x.Header().Set("Cache-Control", "no-store")
	s.x.WriteHeader(http.StatusOK)
	return s.heartbeat()
}

// sees reports whether a principal may learn of a change: of tasks and services of its teams, and of all else.
func sees(p auth.Principal, view *raftfsm.View, change *raftfsm.Change) bool {
	switch o := change.Object.(type) {
	case *spec.Task:
		return p.SeesTask(o)
	case *service.Service:
		return p.SeesService(o)
	case *service.EventChange:
		return p.SeesService(o.Service)
	case *service.DeploymentChange:
		return p.SeesService(o.Service)
	case *service.HookChange:
		s := view.ServiceByID(o.Rollout.ServiceID)
		return s != nil && p.SeesService(s)
	}
	return true
}

// heartbeat says that the stream lives, and up to where it has come: an id without an event.
func (s *stream) heartbeat() error {
	return s.write([]byte("id: " + formatID(s.at, s.view.Settings().Incarnation) + "\n\n"))
}

// send writes the events of the changes that match the query.
func (s *stream) send(changes []*raftfsm.Change) error {
	s.chunk, s.sent = s.chunk[:0], false
	for _, change := range changes {
		s.at = change.Position
		if !s.query.matches(change) || !sees(s.principal, s.view, change) {
			continue
		}
		s.sent = true
		text, err := s.handler.Shared.cache.get(change, s.view, s.principal.Region)
		if err != nil {
			return err
		}
		s.chunk = append(s.chunk, text...)
		if len(s.chunk) < flushSize {
			continue
		}
		if err := s.write(s.chunk); err != nil {
			return err
		}
		s.chunk = s.chunk[:0]
	}
	if len(s.chunk) == 0 {
		return nil
	}
	return s.write(s.chunk)
}

// clientGoneError is an error of writing to the client.
type clientGoneError struct{ error }

func (e *clientGoneError) Unwrap() error { return e.error }

func (s *stream) write(chunk []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(clientTimeout)) // a transport without deadlines has no slow clients either
	if _, err := s.x.Write(chunk); err != nil {
		return &clientGoneError{err}
	}
	if err := s.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return &clientGoneError{err}
	}
	_ = s.control.SetWriteDeadline(time.Time{}) // on HTTP/2 it would end a silent stream too
	return nil
}

// waitForMore waits until there is more, with a heartbeat now and then.
func (s *stream) waitForMore(ctx context.Context, more <-chan struct{}) error {
	start := time.Now()
	if err := s.wait(ctx, more, heartbeatEvery); err != nil || time.Since(start) < heartbeatEvery {
		return err
	}
	return s.heartbeat()
}

// wait waits for limit, until c is closed, or until there is a refusal, which it sends. It ends with this host or when the client leaves.
func (s *stream) wait(ctx context.Context, c <-chan struct{}, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return nil
	case <-timer.C:
		return nil
	case e := <-s.refusals:
		return s.tellRefusal(e)
	case <-ctx.Done():
	}
	select {
	case <-s.handler.Stop:
		return wire.Errorf(wire.Server, "This host stops. Go on at another one, after the last event.")
	default:
		if httpx.KeyRemoved(ctx) {
			return context.Cause(ctx)
		}
		return &clientGoneError{context.Cause(ctx)}
	}
}

func (s *stream) tellRefusal(e audit.Line) error {
	envelope, err := s.handler.Refusal(e, s.principal.Region)
	if err != nil {
		return err
	}
	return s.write(encode("", refusalKind, envelope))
}

// end sends the last event, which says why the stream ends.
func (s *stream) end(why error) {
	refusal, _ := httpx.ToWireError(why)
	text, err := json.Marshal(refusal)
	if err == nil {
		err = s.write(encode("", endEvent, text))
	}
	if err != nil {
		s.x.Log.Debug("a client of events left", "requestId", s.x.ID, "error", err)
	}
}
