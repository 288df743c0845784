package images

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// errStalled is the error for a registry that stopped sending.
var errStalled = errors.New("the registry stopped sending")

// stallTimeoutTransport waits at most stall for the next byte, and counts the bytes of layers.
type stallTimeoutTransport struct {
	next     http.RoundTripper
	stall    time.Duration
	received *atomic.Int64
}

func (t *stallTimeoutTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &stallTimeoutBody{ReadCloser: response.Body, ctx: ctx, cancel: cancel, stall: t.stall}
	if strings.Contains(request.URL.Path, "/blobs/") || request.Response != nil {
		body.received = t.received
	}
	response.Body = body
	return response, nil
}

// stallTimeoutBody is a response body whose reads time out. Only the wait inside a read counts, so a slow reader does not
// time out.
type stallTimeoutBody struct {
	io.ReadCloser
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stall    time.Duration
	received *atomic.Int64 // nil: not counted
}

func (b *stallTimeoutBody) Read(p []byte) (int, error) {
	alarm := time.AfterFunc(b.stall, func() { b.cancel(errStalled) })
	n, err := b.ReadCloser.Read(p)
	alarm.Stop()
	if b.received != nil {
		b.received.Add(int64(n))
	}
	if err != nil && err != io.EOF && errors.Is(context.Cause(b.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}

func (b *stallTimeoutBody) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}
