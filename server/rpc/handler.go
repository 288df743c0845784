package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"pinion/packaging/jsonshape"
)

const (
	// maxHostCallBytes is the size of a request of a host that may be no server. The largest has a certificate request.
	maxHostCallBytes = 64 << 10
	// maxHostCallElements is how many elements its JSON has: such requests are a few members, and one has a list of containers of a task.
	maxHostCallElements = 1000
	// readTimeout is how long a request may take until it is here.
	readTimeout = 10 * time.Second
)

// requestLimits bounds a request as text, and what the text stands for.
type requestLimits struct {
	bytes    int64
	elements int // of its JSON, see jsonshape.Check; 0: any
}

// HandlerFunc answers a call of a host whose id was authenticated.
type HandlerFunc func(w http.ResponseWriter, r *http.Request, from string)

// JSON makes a handler of a function: JSON in, JSON or a WireError out. from is the id of the calling host. It is for calls that every host may
// make: what they send has 64 KiB and 1,000 elements at most, and 10 seconds.
func JSON[In, Out any](f func(ctx context.Context, from string, in In) (Out, error)) HandlerFunc {
	return handleJSON(requestLimits{maxHostCallBytes, maxHostCallElements}, f)
}

// ServerJSON is JSON for calls that servers alone may make: reports of many hosts have 64 MiB at most. Their elements are not counted: servers have the
// state of the pool in their hands as it is.
func ServerJSON[In, Out any](f func(ctx context.Context, from string, in In) (Out, error)) HandlerFunc {
	return handleJSON(requestLimits{bytes: maxCallBytes}, f)
}

func handleJSON[In, Out any](limits requestLimits, f func(ctx context.Context, from string, in In) (Out, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		var in In
		var out Out
		err := limits.read(w, r, &in)
		if err == nil {
			out, err = f(r.Context(), from, in)
		}
		if err != nil {
			WriteError(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	}
}

// read decodes a request. What stands for too much is refused while it is text.
func (l requestLimits) read(w http.ResponseWriter, r *http.Request, in any) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readTimeout))
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, l.bytes))
	_ = control.SetReadDeadline(time.Time{})
	if err == nil && l.elements > 0 {
		err = jsonshape.Check(text, l.elements)
	}
	if err != nil {
		return fmt.Errorf("call %s: %w", r.URL.Path, err)
	}
	return json.Unmarshal(text, in)
}

// WriteError replies with an error, which the calling host's Client returns as its own.
func WriteError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusConflict)
	_ = json.NewEncoder(w).Encode(ToWire(err))
}
