package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"pinion/api/sigv4"
	"pinion/api/wire"
	"pinion/raftfsm"
)

const (
	// minFlushEvery is the shortest time between two looks of a follower at what is new. Changes that come together are written together:
	// hundreds of followers of a busy pool would otherwise cost a system call for each change and follower.
	minFlushEvery = 25 * time.Millisecond
	// flushSize is the size from which a piece is written.
	flushSize = 32 << 10
	// clientTimeout is how long a client may take for a piece before it is cut off.
	clientTimeout = 15 * time.Second
	// heartbeatEvery is how often a silent stream says that it lives, and up to where it has looked.
	heartbeatEvery = 15 * time.Second
	// batchMax is how many changes are looked at in one go.
	batchMax = 1024
)

// endEvent is the kind of the last event of a stream that this host ends: its data is an error, which says why.
const endEvent = "end"

// follower is one stream of events. It is used by one goroutine.
type follower struct {
	*door
	w       http.ResponseWriter
	control *http.ResponseController
	who     caller
	query   *eventQuery
	at      raftfsm.Position // everything up to here was told, or is none of this follower's business
	begun   bool
	piece   []byte
}

// run tells what changes until ctx ends. An error is for a client that has got nothing yet; later the stream itself says why
// it ends. A client that does not take what it is sent is cut off: it can go on where it was.
func (f *follower) run(ctx context.Context) error {
	err := f.tell(ctx)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		f.Log.Info("a follower of events does not read, and is cut off", "requestId", requestID(f.w), "principal", f.who.principal)
		panic(http.ErrAbortHandler)
	case errors.As(err, new(*clientGoneError)):
		return nil // the client is gone
	case !f.begun:
		return errCompacted(err)
	case err != nil:
		f.end(errCompacted(err))
	}
	return nil
}

// tell writes what is new, and waits for more.
func (f *follower) tell(ctx context.Context) error {
	for {
		changes, more, err := f.look()
		if err == nil && !f.begun {
			err = f.begin()
		}
		if err == nil {
			err = f.write(changes)
		}
		switch {
		case err != nil:
			return err
		case len(changes) == batchMax:
			continue
		case !f.query.follow:
			return nil
		case len(changes) > 0:
			err = f.pause(ctx, nil, minFlushEvery)
		default:
			err = f.idle(ctx, more)
		}
		if err != nil {
			return err
		}
	}
}

// look finds what is new. It ends a stream whose key was removed.
func (f *follower) look() ([]*raftfsm.Change, <-chan struct{}, error) {
	changes, more, err := f.History.Changes(f.at, batchMax)
	if first, ok := errors.AsType[*raftfsm.CompactedError](err); ok && f.query.oldest {
		f.at = first.Oldest
		changes, more, err = f.History.Changes(f.at, batchMax)
	}
	if err != nil {
		return nil, nil, err
	}
	f.query.oldest = false
	if f.who.view, err = f.Local.StaleView(); err != nil {
		return nil, nil, err
	}
	if f.who.key != "" && f.who.view.AccessKey(f.who.key) == nil {
		return nil, nil, wire.Errorf(sigv4.UnrecognizedClient, "The access key %s was removed.", f.who.key)
	}
	return changes, more, nil
}

// begin answers: a follower learns at once that it follows, and where it would go on.
func (f *follower) begin() error {
	f.begun = true
	f.w.Header().Set("Content-Type", "text/event-stream")
	f.w.Header().Set("Cache-Control", "no-store")
	f.w.WriteHeader(http.StatusOK)
	return f.hail()
}

// hail says that the stream lives, and up to where it has looked: an id without an event.
func (f *follower) hail() error {
	return f.send([]byte("id: " + eventID(f.at, f.who.view.Settings().Incarnation) + "\n\n"))
}

// write sends the events of changes that the query is about.
func (f *follower) write(changes []*raftfsm.Change) error {
	f.piece = f.piece[:0]
	for _, change := range changes {
		f.at = change.Position
		if !f.query.wants(change) {
			continue
		}
		text, err := f.Limits.events.of(change, f.who.view, f.who.region)
		if err != nil {
			return err
		}
		f.piece = append(f.piece, text...)
		if len(f.piece) < flushSize {
			continue
		}
		if err := f.send(f.piece); err != nil {
			return err
		}
		f.piece = f.piece[:0]
	}
	if len(f.piece) == 0 {
		return nil
	}
	return f.send(f.piece)
}

// clientGoneError is an error of writing to the client.
type clientGoneError struct{ error }

func (u *clientGoneError) Unwrap() error { return u.error }

func (f *follower) send(piece []byte) error {
	_ = f.control.SetWriteDeadline(time.Now().Add(clientTimeout)) // a transport without deadlines has no slow clients either
	if _, err := f.w.Write(piece); err != nil {
		return &clientGoneError{err}
	}
	if err := f.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return &clientGoneError{err}
	}
	return nil
}

// idle waits until there is more, and says now and then that the stream lives.
func (f *follower) idle(ctx context.Context, more <-chan struct{}) error {
	waited := time.Now()
	if err := f.pause(ctx, more, heartbeatEvery); err != nil || time.Since(waited) < heartbeatEvery {
		return err
	}
	return f.hail()
}

// pause waits for a while, or until c is closed. It ends with this host or when the client leaves.
func (f *follower) pause(ctx context.Context, c <-chan struct{}, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-c:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-f.closing:
		return wire.Errorf(wire.Server, "This host stops. Go on at another one, after the last event.")
	default:
		return &clientGoneError{context.Cause(ctx)}
	}
}

// end tells why the stream ends.
func (f *follower) end(why error) {
	refusal, _ := toWireError(why)
	text, err := json.Marshal(refusal)
	if err == nil {
		err = f.send(eventFrame("", endEvent, text))
	}
	if err != nil {
		f.Log.Debug("a follower of events left", "requestId", requestID(f.w), "err", err)
	}
}
