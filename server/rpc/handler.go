package rpc

import (
	"context"
	"encoding/json"
	"net/http"
)

// HandlerFunc answers a call of a host whose id was authenticated.
type HandlerFunc func(w http.ResponseWriter, r *http.Request, from string)

// JSON makes a handler of a function: JSON in, JSON or a WireError out. from is the id of the calling host.
func JSON[In, Out any](f func(ctx context.Context, from string, in In) (Out, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		var in In
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCallBytes)).Decode(&in)
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
