package api

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"pinion/api/wire"
)

const requestIDHeader = "x-amzn-RequestId"

func requestID(w http.ResponseWriter) string { return w.Header().Get(requestIDHeader) }

// observe gives each request its id, turns a panic into a 500 that names it, and logs the access at debug level:
// never a body, a header or a query, which may hold secrets.
func (d *door) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		seen := &recorder{ResponseWriter: w, status: http.StatusOK}
		// For the answer: the deadline of the request before would still be there.
		_ = http.NewResponseController(w).SetWriteDeadline(begin.Add(writeTimeout))
		w.Header().Set(requestIDHeader, newRequestID())
		defer func() {
			if problem := recover(); problem != nil {
				d.panicked(seen, r, problem)
			}
			d.Log.Debug("request", "requestId", requestID(w), "method", r.Method, "path", r.URL.Path,
				"target", r.Header.Get("X-Amz-Target"), "status", seen.status, "bytes", seen.bytes,
				"took", time.Since(begin), "from", r.RemoteAddr)
		}()
		next.ServeHTTP(seen, r)
	})
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

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int
	wrote  bool
}

func (w *recorder) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.wrote = true
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
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
