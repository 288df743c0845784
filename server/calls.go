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
	// callLimit is the most that one call carries: reports of many hosts, far below this.
	callLimit = 64 << 20
)

// calls asks other hosts. What it fails with wraps raftfsm.ErrUnavailable when the other host gave no answer; else it is
// the other host's own error (see fault).
type calls struct{ client *http.Client }

// post sends in as JSON and reads the answer into out.
func (c *calls) post(ctx context.Context, address, path string, in, out any) error {
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
		return unanswered(address, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, callLimit))
	if err != nil {
		return unanswered(address, err)
	}
	return readAnswer(address, answer.StatusCode, text, out)
}

func readAnswer(address string, status int, text []byte, out any) error {
	if status == http.StatusOK {
		return json.Unmarshal(text, out)
	}
	var f fault
	if err := json.Unmarshal(text, &f); err != nil || f.Text == "" {
		return &unreached{fmt.Sprintf("host %s answered with status %d", address, status), true, nil}
	}
	return f.err()
}

// unreached says that another host gave no answer; it is an unavailable that knows whether anything was sent.
type unreached struct {
	reason string
	sent   bool
	why    error // nil when it answered nonsense
}

func (u *unreached) Error() string { return u.reason }

// Unwrap makes errors.Is(err, raftfsm.ErrUnavailable) true, and says what that means for a change.
func (u *unreached) Unwrap() []error {
	if u.sent {
		return []error{ErrOutcomeUnknown, u.why}
	}
	return []error{ErrNotLeader, u.why}
}

func unanswered(address string, err error) error {
	var dialing *net.OpError
	notSent := errors.As(err, &dialing) && dialing.Op == "dial"
	return &unreached{fmt.Sprintf("host %s does not answer: %v", address, err), !notSent, err}
}

// answering makes a handler of a function: JSON in, JSON or a fault out. from is the id of the calling host.
func answering[In, Out any](f func(ctx context.Context, from string, in In) (Out, error)) callHandler {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		var in In
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, callLimit)).Decode(&in)
		var out Out
		if err == nil {
			out, err = f(r.Context(), from, in)
		}
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusConflict)
			_ = json.NewEncoder(w).Encode(faultOf(err))
			return
		}
		_ = json.NewEncoder(w).Encode(out)
	}
}

// callHandler answers a call of a host whose id was proved.
type callHandler func(w http.ResponseWriter, r *http.Request, from string)
