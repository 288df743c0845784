package proxy

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"sync/atomic"
	"time"

	"pinion/raftfsm/traffic"
)

// exchange carries one request to a target of a group and its answer back.
type exchange struct {
	*call
	upstream http.RoundTripper
	table    *table
	settings *traffic.Group
	prefer   preference
}

const maxAttempts = 3

// silent has no log: what httputil would log is in the access log and the metrics.
var silent = log.New(io.Discard, "", 0)

func (x *exchange) serve(w http.ResponseWriter, r *http.Request) {
	var err error
	if x.prefer, err = preferenceOf(x.settings.Affinity, r); err != nil {
		x.fail(w, r, err)
		return
	}
	reverse := httputil.ReverseProxy{Rewrite: x.rewrite, Transport: x, ErrorHandler: x.fail, BufferPool: buffers, ErrorLog: silent}
	reverse.ServeHTTP(w, r)
}

// RoundTrip sends the request to a target, and to another one when the first cannot have acted on it.
func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	var tried []*target
	var last error
	for {
		t, err := x.group.acquire(r.Context(), x.prefer, tried)
		if err != nil {
			return nil, cmp.Or(last, err)
		}
		x.target = t
		x.attempts++
		answer, err := x.send(r, t)
		if err == nil {
			return answer, nil
		}
		x.group.release(t)
		tried, last = append(tried, t), err
		if r.Context().Err() != nil || len(tried) == maxAttempts || !mayRepeat(r, err) {
			return nil, err
		}
	}
}

// mayRepeat reports whether a request that has failed before any byte of an answer may be sent again: its target has seen nothing of it, or it has
// no body and means the same twice.
func mayRepeat(r *http.Request, err error) bool {
	var notSent *dialError
	if errors.As(err, &notSent) {
		return true
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return r.Body == nil && !errors.Is(err, errSilent)
	}
	return false
}

// errBadBody is a client whose body cannot be read: no fault of the target.
var errBadBody = errors.New("the body of the request is malformed or ends too early")

// errSilent is a target that has not begun to answer within the listener's idle timeout.
var errSilent = errors.New("the target did not answer in time")

// send tries one target. What it returns without an error is in flight until its body is closed.
func (x *exchange) send(r *http.Request, t *target) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	silence := time.AfterFunc(x.table.idleTimeout, func() { cancel(errSilent) })
	out := r.WithContext(ctx)
	address := *r.URL
	address.Scheme, address.Host = "http", t.address
	out.URL = &address
	body := &requestBody{ReadCloser: r.Body, used: func() { silence.Reset(x.table.idleTimeout) }}
	if r.Body != nil {
		out.Body = body
	}
	answer, err := x.upstream.RoundTrip(out)
	silence.Stop()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		switch {
		case body.broken.Load():
			return nil, errBadBody
		case r.Context().Err() == nil:
			x.group.observe(t, failed)
		}
		return nil, err
	}
	x.answered()
	x.status = answer.StatusCode
	x.group.observe(t, outcomeOf(answer.StatusCode))
	if a := x.settings.Affinity; a != nil && a.By == traffic.ByCookie && x.prefer.target != t.hash {
		answer.Header.Add("Set-Cookie", stickTo(t, a).String())
	}
	whole := &answerBody{ReadCloser: answer.Body, of: x, cancel: cancel}
	answer.Body = whole
	if writer, ok := whole.ReadCloser.(io.Writer); ok && answer.StatusCode == http.StatusSwitchingProtocols {
		answer.Body = &upgradedBody{whole, writer}
	}
	return answer, nil
}

// outcomeOf is failed only for what says that the target cannot serve at all: a client could provoke a 500, and so drive targets out.
func outcomeOf(status int) outcome {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return failed
	}
	return succeeded
}

// requestBody is a client's body on its way to a target.
type requestBody struct {
	io.ReadCloser
	used   func()
	broken atomic.Bool // it cannot be read
}

// Read notes that the client still sends.
func (b *requestBody) Read(p []byte) (int, error) {
	b.used()
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		b.broken.Store(true)
	}
	return n, err
}

// Close leaves the body open: after a target that could not be connected to, another one gets it.
func (b *requestBody) Close() error { return nil }

// answerBody is a target's answer on its way to the client.
type answerBody struct {
	io.ReadCloser
	of     *exchange
	cancel context.CancelCauseFunc
	closed atomic.Bool
}

// Read counts bytes and notes when the target breaks off.
func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.sent.Add(int64(n))
	if err != nil && err != io.EOF && !errors.Is(err, context.Canceled) {
		b.of.broken.Store(true)
	}
	return n, err
}

// Close ends the exchange.
func (b *answerBody) Close() error {
	err := b.ReadCloser.Close()
	if !b.closed.Swap(true) {
		b.cancel(nil)
		b.of.group.release(b.of.target)
	}
	return err
}

// upgradedBody is a connection that is no HTTP any more.
type upgradedBody struct {
	*answerBody
	io.Writer
}
