package rpc

import (
	"cmp"
	"context"
	"net/http"
)

// LeaderCall is a call that hosts make to the leader, each on its own behalf: at Path, or directly where the caller leads. It must be safe to
// repeat.
type LeaderCall[In, Out any] struct {
	Path        string
	MaxBytes    int64 // of a request [64 KiB]; with more, few requests above 64 KiB are read at once
	MaxElements int   // of a request's JSON, see jsonshape.Check [1,000]
	// Leads returns an error where this host does not lead: then a request is not even read. nil: Answer alone says so.
	Leads func() error
	// Answer is the leader's answer to the host with the id from. It fails with spec.ErrNotLeader where this host does not lead.
	Answer func(ctx context.Context, from string, in In) (Out, error)
}

// Do is the leader's answer to the host here, by its id.
func (c LeaderCall[In, Out]) Do(ctx context.Context, leader Leadership, hostID string, in In) (out Out, err error) {
	err = leader.CallLeaderAt(ctx, c.Path, in, &out, func() (err error) {
		out, err = c.Answer(ctx, hostID, in)
		return err
	})
	return out, err
}

const (
	// maxLargeCalls is how many requests above 64 KiB are read and answered at once of one path, and maxLargeCallsPerHost how many of these are of one host, which has
	// one to send at a time.
	maxLargeCalls        = 64
	maxLargeCallsPerHost = 2
)

// Handler answers other hosts.
func (c LeaderCall[In, Out]) Handler() HandlerFunc {
	handle := handleJSON(requestLimits{cmp.Or(c.MaxBytes, maxHostCallBytes), cmp.Or(c.MaxElements, maxHostCallElements)}, c.Answer)
	large := &Limit{Calls: maxLargeCalls, CallsPerCaller: maxLargeCallsPerHost}
	return func(w http.ResponseWriter, r *http.Request, from string) {
		if c.Leads != nil {
			if err := c.Leads(); err != nil {
				WriteError(w, err)
				return
			}
		}
		if isLarge := r.ContentLength < 0 || r.ContentLength > maxHostCallBytes; isLarge && c.MaxBytes > maxHostCallBytes {
			large.Handle(w, "host "+from, func() { handle(w, r, from) })
			return
		}
		handle(w, r, from)
	}
}
