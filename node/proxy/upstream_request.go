package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"pinion/node/proxy/http1"
	"pinion/raftfsm/traffic"
)

// upstreamRequest carries one request to a target of a group and its answer back.
type upstreamRequest struct {
	*call
	upstream sender
	table    *table
	settings *traffic.Group
	prefer   preference
}

const maxAttempts = 3

// errRequestTimeout is the error of a request whose time is over. That of a target which could not be connected to in time is another one.
var errRequestTimeout = errors.New("the request was not answered in its time")

func (x *upstreamRequest) serve(w http.ResponseWriter, r *http.Request) {
	var err error
	if x.prefer, err = preferenceOf(x.settings.Affinity, r); err != nil {
		x.fail(w, err)
		return
	}
	x.rewrite(r)
	if r.Body != nil {
		body := &requestBody{from: r.Body}
		r.Body = body
		defer body.end()
	}
	if limit := x.table.config.RequestTimeout; limit > 0 && r.Header.Get("Upgrade") == "" {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		r = r.WithContext(ctx)
	}
	answer, err := x.sendToAny(w, r)
	if err != nil {
		if errors.Is(r.Context().Err(), context.DeadlineExceeded) {
			err = errRequestTimeout
		}
		x.fail(w, err)
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		x.upgrade(w, r, answer)
		return
	}
	forwardAnswer(w, answer)
}

// sendToAny sends the request to a target, and to another one when the first cannot have acted on it or has no room. When there is no other, what the
// first one said is the answer.
func (x *upstreamRequest) sendToAny(w http.ResponseWriter, r *http.Request) (*http.Response, error) {
	t, err := x.group.acquire(r.Context(), x.prefer, nil)
	if err != nil {
		return nil, err
	}
	for tried := []*target{t}; ; tried = append(tried, t) {
		x.target = t
		x.attempts++
		answer, err := x.send(w, r, t)
		if err != nil {
			x.group.release(t)
		}
		if len(tried) == maxAttempts || r.Context().Err() != nil || !mayRepeat(r, answer, err) {
			return answer, err
		}
		if t, _ = x.group.acquire(r.Context(), x.prefer, tried); t == nil {
			return answer, err
		}
		if err == nil {
			answer.Body.Close()
		}
	}
}

// mayRepeat reports whether a request may be sent again: its target has seen nothing of it, or it has no body, means the same twice, and either failed
// before any byte of an answer or was answered that there is no room for it now.
func mayRepeat(r *http.Request, answer *http.Response, err error) bool {
	var notSent *dialError
	if errors.As(err, &notSent) {
		return true
	}
	if r.Body != nil || errors.Is(err, http1.ErrSilent) {
		return false
	}
	if err == nil && answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusServiceUnavailable {
		return false
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

// errBadBody is the error of a client's body that cannot be read: no fault of the target.
var errBadBody = errors.New("the body of the request is malformed or ends too early")

// send tries one target. What it returns without an error is in flight until its body is closed.
func (x *upstreamRequest) send(w http.ResponseWriter, r *http.Request, t *target) (*http.Response, error) {
	r.URL.Host = t.address
	answer, err := x.upstream.Send(r, http1.Options{Patience: x.table.idleTimeout, Informed: func(status int, h http.Header) { inform(w, status, h) }})
	if err != nil {
		body, ok := r.Body.(*requestBody)
		switch {
		case ok && body.broken.Load():
			return nil, errBadBody
		case r.Context().Err() == nil:
			x.group.observe(t, outcomeOfError(err))
		}
		return nil, err
	}
	x.answered()
	x.status = answer.StatusCode
	x.group.observe(t, outcomeOf(answer.StatusCode))
	if a := x.settings.Affinity; a != nil && a.By == traffic.ByCookie && x.prefer.target != t.hash {
		answer.Header.Add("Set-Cookie", stickTo(t, a).String())
	}
	answer.Body = &answerBody{ReadCloser: answer.Body, of: x}
	return answer, nil
}

// outcomeOfError is failed unless this host is short of something: that is no target's fault, and would drive out all of them.
func outcomeOfError(err error) outcome {
	if isShortage(err) {
		return abandoned
	}
	return failed
}

// outcomeOf is failed only for a status by which the target cannot serve at all: a client could provoke a 500, and so drive targets out.
func outcomeOf(status int) outcome {
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return failed
	}
	return succeeded
}

// requestBody is a client's body on its way to a target.
type requestBody struct {
	from   io.Reader
	broken atomic.Bool // it cannot be read
	ended  atomic.Bool // the request is answered: net/http allows no more reads
}

// Read reads nothing more once the request is answered.
func (b *requestBody) Read(p []byte) (int, error) {
	if b.ended.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.from.Read(p)
	if err != nil && err != io.EOF {
		b.broken.Store(true)
	}
	return n, err
}

// Close leaves the body open: after a target that could not be connected to, another one gets it.
func (b *requestBody) Close() error { return nil }

func (b *requestBody) end() { b.ended.Store(true) }
