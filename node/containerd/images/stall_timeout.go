package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

var (
	// errStalled is the error for a registry that stopped sending.
	errStalled = errors.New("the registry stopped sending")
	// errSlow is the error for one that sends so little that the pull would not end.
	errSlow = fmt.Errorf("the registry sends less than %d KiB a second", minPace>>10)
	// errTooLong is the error for a document without an end.
	errTooLong = fmt.Errorf("the registry sends a document of more than %d MiB", maxDocument>>20)
)

// minPace is the least average rate of a connection, in bytes a second. A pull may wait paceGrace stall timeouts on top of that:
// registries that fetch an image from elsewhere first take minutes to begin.
const (
	minPace   = 4 << 10
	paceGrace = 10
)

// pace counts the waits of one pull's connections, and the bytes that they brought.
type pace struct{ waited, received atomic.Int64 }

// record counts a wait that began then, and returns errSlow when it was one too many.
func (p *pace) record(began time.Time, n int, stall time.Duration) error {
	waited, received := p.waited.Add(int64(time.Since(began))), p.received.Add(int64(n))
	if time.Duration(waited) > paceGrace*stall+time.Duration(received)*time.Second/minPace {
		return errSlow
	}
	return nil
}

// stallTimeoutTransport waits at most stall for the next byte, holds the pull to its pace, bounds all but layers, and counts the bytes of
// these.
type stallTimeoutTransport struct {
	next     http.RoundTripper
	stall    time.Duration
	received *atomic.Int64
	pace     *pace
}

func (t *stallTimeoutTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	began := time.Now()
	response, err := t.next.RoundTrip(request.WithContext(ctx))
	if slow := t.pace.record(began, 0, t.stall); err == nil && slow != nil {
		response.Body.Close()
		err = slow
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &stallTimeoutBody{ReadCloser: response.Body, ctx: ctx, cancel: cancel, stall: t.stall, pace: t.pace}
	if isBlob(request) {
		body.received = t.received
	} else if response.ContentLength > maxDocument {
		body.Close()
		return nil, errTooLong
	}
	response.Body = body
	return response, nil
}

// isBlob tells requests for layers and configurations from others, wherever they were redirected to.
func isBlob(request *http.Request) bool {
	for request.Response != nil {
		request = request.Response.Request
	}
	return strings.Contains(request.URL.Path, "/blobs/")
}

// stallTimeoutBody is a response body whose reads time out. Only the wait inside a read counts, so a slow reader does not
// time out.
type stallTimeoutBody struct {
	io.ReadCloser
	ctx      context.Context
	cancel   context.CancelCauseFunc
	stall    time.Duration
	pace     *pace
	received *atomic.Int64 // nil: a document
	length   int           // of a document, so far
}

func (b *stallTimeoutBody) Read(p []byte) (int, error) {
	alarm := time.AfterFunc(b.stall, func() { b.cancel(errStalled) })
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	alarm.Stop()
	slow := b.pace.record(began, n, b.stall)
	if b.received != nil {
		b.received.Add(int64(n))
	} else if b.length += n; b.length > maxDocument {
		return n, errTooLong
	}
	switch {
	case err == nil:
		err = slow
	case err != io.EOF && errors.Is(context.Cause(b.ctx), errStalled):
		err = errStalled
	}
	return n, err
}

func (b *stallTimeoutBody) Close() error {
	b.cancel(nil)
	return b.ReadCloser.Close()
}
