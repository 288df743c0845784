package ctrd

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// errStalled says that a registry stopped sending.
var errStalled = errors.New("the registry stopped sending")

// patientTransport waits for the next byte as long as stall, no longer, and counts the bytes of layers.
type patientTransport struct {
	next     http.RoundTripper
	stall    time.Duration
	received *atomic.Int64
}

func (t *patientTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &patientBody{ReadCloser: response.Body, ctx: ctx, cancel: cancel, stall: t.stall}
	if strings.Contains(request.URL.Path, "/blobs/") || request.Response != nil {
		body.received = t.received
	}
	response.Body = body
	return response, nil
}

// patientBody is a response whose reads time out. Only the waiting counts: a reader that takes its time does not.
type patientBody struct {
	io.ReadCloser
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stall    time.Duration
	received *atomic.Int64 // nil: not counted
}

func (b *patientBody) Read(p []byte) (int, error) {
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

func (b *patientBody) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}
