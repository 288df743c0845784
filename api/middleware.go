package api

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"pinion/api/wire"
)

const requestIDHeader = "x-amzn-RequestId"

func requestID(w http.ResponseWriter) string { return w.Header().Get(requestIDHeader) }

// observe gives each request its id, turns a panic into a 500 that names it, and logs the access: never a body, a header
// or a query, which may hold secrets. What changed something is logged for everyone who reads the log, the rest at debug
// level.
func (d *door) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		seen := &recorder{ResponseWriter: w, status: http.StatusOK}
		// For the answer: the deadline of the request before would still be there.
		_ = http.NewResponseController(w).SetWriteDeadline(begin.Add(writeTimeout))
		w.Header().Set(requestIDHeader, newRequestID())
		defer func() {
			defer seen.leave()
			defer func() { d.logAccess(seen, r, time.Since(begin)) }()
			if problem := recover(); problem != nil {
				d.panicked(seen, r, problem)
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

// logAccess says who did what.
func (d *door) logAccess(seen *recorder, r *http.Request, took time.Duration) {
	level := slog.LevelDebug
	if seen.changes && seen.status == http.StatusOK {
		level = slog.LevelInfo
	}
	if !d.Log.Enabled(context.Background(), level) {
		return
	}
	d.Log.LogAttrs(context.Background(), level, "request", slog.String("operation", seen.operation), slog.String("principal", seen.principal),
		slog.Int("status", seen.status), slog.Duration("took", took), slog.String("requestId", requestID(seen)), slog.Int("bytes", seen.bytes),
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("from", r.RemoteAddr))
}

func (d *door) panicked(seen *recorder, r *http.Request, problem any) {
	if problem == http.ErrAbortHandler {
		panic(problem) // a stream that broke off: the server cuts the connection
	}
	d.Log.Error("a request handler panicked", "requestId", requestID(seen), "path", r.URL.Path, "panic", problem, "stack", string(debug.Stack()))
	if seen.wrote {
		panic(http.ErrAbortHandler)
	}
	d.refuse(seen, r, typeJSON, wire.Errorf(wire.Server, "An internal error occurred. The host's log has it under request id %s.", requestID(seen)))
}

// recorder remembers what was asked and answered, and what is to be given back when the answer begins or the request ends.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int
	wrote  bool

	operation string // for the log, as what follows
	principal string
	changes   bool

	atAnswer func() // gives the place among the requests under way back; nil when there is none
	atEnd    func() // gives the place of a large body back
}

// recorderOf finds the recorder of a request.
func recorderOf(w http.ResponseWriter) *recorder {
	for {
		switch found := w.(type) {
		case *recorder:
			return found
		case interface{ Unwrap() http.ResponseWriter }:
			w = found.Unwrap()
		default:
			return &recorder{ResponseWriter: w}
		}
	}
}

// WriteHeader begins the answer. All that was to be worked out for it is done by then: from now on it is the client's pace
// that counts, and no place is held for that.
func (w *recorder) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
		give(&w.atAnswer)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	if !w.wrote {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

// leave gives back whatever is held still.
func (w *recorder) leave() {
	give(&w.atAnswer)
	give(&w.atEnd)
}

func give(held *func()) {
	if *held != nil {
		(*held)()
		*held = nil
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// newRequestID is a random UUID.
func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
