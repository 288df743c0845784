package rpc

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

const (
	// maxHostCallBytes is the size of a request of a host that may be no server. The largest has a certificate request.
	maxHostCallBytes = 64 << 10
	// readTimeout is how long a request may take until it is here.
	readTimeout = 10 * time.Second
)

// HandlerFunc answers a call of a host whose id was authenticated.
type HandlerFunc func(w http.ResponseWriter, r *http.Request, from string)

// JSON makes a handler of a function: JSON in, JSON or a WireError out. from is the id of the calling host. It is for calls that every host may
// make: what they send has 64 KiB at most, and 10 seconds.
func JSON[In, Out any](f func(ctx context.Context, from string, in In) (Out, error)) HandlerFunc {
	return handleJSON(maxHostCallBytes, f)
}

// SizedJSON is JSON for calls that have so many bytes at most.
func SizedJSON[In, Out any](limit int64, f func(ctx context.Context, from string, in In) (Out, error)) HandlerFunc {
	return handleJSON(limit, f)
}

// ServerJSON is JSON for calls that servers alone may make: reports of many hosts have 64 MiB at most.
func ServerJSON[In, Out any](f func(ctx context.Context, from string, in In) (Out, error)) HandlerFunc {
	return handleJSON(maxCallBytes, f)
}

func handleJSON[In, Out any](limit int64, f func(ctx context.Context, from string, in In) (Out, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		var in In
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Now().Add(readTimeout))
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit)).Decode(&in)
		_ = control.SetReadDeadline(time.Time{})
		var out Out
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

// WriteError replies with an error, which the calling host's Client returns as its own.
func WriteError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusConflict)
	_ = json.NewEncoder(w).Encode(ToWire(err))
}
