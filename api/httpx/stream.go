package httpx

import (
	"context"
	"errors"
	"net/http"
	"time"

	"pinion/api/wire"
)

// Stop is closed when the host stops. Streams end then; a nil Stop never ends them.
type Stop <-chan struct{}

// Context is a context that also ends when the host stops: a stream must not hold that up.
func (s Stop) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	s.AfterFunc(ctx, cancel)
	return ctx, cancel
}

// AfterFunc calls f when the host stops, unless ctx has ended or cancel was called before.
func (s Stop) AfterFunc(ctx context.Context, f func()) (cancel func()) {
	ctx, cancel = context.WithCancel(ctx)
	go func() {
		select {
		case <-s:
			f()
		case <-ctx.Done():
		}
	}()
	return cancel
}

// KeyRemoved reports whether the stream of a request ends because its access key was removed.
func KeyRemoved(ctx context.Context) bool {
	return ctx.Err() != nil && errors.As(context.Cause(ctx), new(*wire.Error))
}

// StreamWriter writes a response of unknown length. Each chunk gives the client WriteTimeout anew; with Flush it is sent at
// once.
type StreamWriter struct {
	Exchange *Exchange
	Flush    bool
}

// Start begins the response before there is anything to write: with Flush, the client learns at once that it succeeded.
func (s *StreamWriter) Start(status int) {
	s.ResetDeadline()
	s.Exchange.WriteHeader(status)
	if s.Flush {
		_ = s.Exchange.Controller().Flush() // a client that is gone is noticed at the next chunk
		s.clearDeadline()
	}
}

// clearDeadline ends the deadline of what was sent: on HTTP/2 it would end a silent stream too.
func (s *StreamWriter) clearDeadline() { _ = s.Exchange.Controller().SetWriteDeadline(time.Time{}) }

// ResetDeadline gives the client WriteTimeout from now on: a stream may be silent for hours, but what is written must be
// taken.
func (s *StreamWriter) ResetDeadline() {
	_ = s.Exchange.Controller().SetWriteDeadline(time.Now().Add(WriteTimeout))
}

// Write writes one chunk.
func (s *StreamWriter) Write(chunk []byte) (int, error) {
	s.ResetDeadline()
	n, err := s.Exchange.Write(chunk)
	if err != nil || !s.Flush {
		return n, err
	}
	if err := s.Exchange.Controller().Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return n, err
	}
	s.clearDeadline()
	return n, nil
}
