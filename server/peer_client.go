package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// callTimeout is for calls between hosts when their callers do not say how long they wait.
	callTimeout = 10 * time.Second
	// maxCallBytes is the most that one call carries: reports of many hosts, far below this.
	maxCallBytes = 64 << 20
)

// peerClient asks other hosts. What it fails with wraps raftfsm.ErrUnavailable when the other host gave no answer; else it is
// the other host's own error (see fault).
type peerClient struct{ client *http.Client }

// call sends in as JSON and reads the answer into out. The address is a "host:port", where any host of the pool may
// answer, or the id of the one host that may.
func (c *peerClient) call(ctx context.Context, address, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("call %s of %s: %w", path, address, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("call %s of %s: %w", path, address, err)
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return noReply(address, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxCallBytes))
	if err != nil {
		return noReply(address, err)
	}
	return decodeReply(address, answer.StatusCode, text, out)
}

func decodeReply(address string, status int, text []byte, out any) error {
	if status == http.StatusOK {
		return json.Unmarshal(text, out)
	}
	var f wireError
	if err := json.Unmarshal(text, &f); err != nil || f.Text == "" {
		return &noReplyError{fmt.Sprintf("host %s answered with status %d", address, status), true, nil}
	}
	return f.toError()
}

// noReplyError says that another host gave no answer; it is an unavailable that knows whether anything was sent.
type noReplyError struct {
	reason string
	sent   bool
	cause  error // nil when it answered nonsense
}

func (u *noReplyError) Error() string { return u.reason }

// Unwrap makes errors.Is(err, raftfsm.ErrUnavailable) true, and says what that means for a change.
func (u *noReplyError) Unwrap() []error {
	if u.sent {
		return []error{ErrOutcomeUnknown, u.cause}
	}
	return []error{ErrNotLeader, u.cause}
}

func noReply(address string, err error) error {
	var dialing *net.OpError
	notSent := errors.As(err, &dialing) && dialing.Op == "dial"
	return &noReplyError{fmt.Sprintf("host %s does not answer: %v", address, err), !notSent, err}
}

// jsonHandler makes a handler of a function: JSON in, JSON or a fault out. from is the id of the calling host.
func jsonHandler[In, Out any](f func(ctx context.Context, from string, in In) (Out, error)) peerHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		var in In
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCallBytes)).Decode(&in)
		var out Out
		if err == nil {
			out, err = f(r.Context(), from, in)
		}
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(toWireError(err))
			return
		}
		_ = json.NewEncoder(w).Encode(out)
	}
}

// peerHandlerFunc answers a call of a host whose id was proved.
type peerHandlerFunc func(w http.ResponseWriter, r *http.Request, from string)
