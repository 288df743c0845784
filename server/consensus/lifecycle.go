package consensus

import (
	"context"
	"sync"
)

// lifecycle holds the contexts of a node, and the calls and loops that Close waits for.
type lifecycle struct {
	life      context.Context // ends with Close (cause spec.ErrClosed) or a failure (its error): no call is admitted then
	end       context.CancelCauseFunc
	answering context.Context // ends with a failure, or when Close is done: calls in progress are given up then
	abandon   context.CancelCauseFunc
	calls     inFlightCalls // calls that Close waits for
	loops     sync.WaitGroup
	closeOnce sync.Once
	failOnce  sync.Once
	fatal     chan error
	ended     chan struct{} // closed when nothing runs any more
}

func newLifecycle() *lifecycle {
	l := &lifecycle{fatal: make(chan error, 1), ended: make(chan struct{})}
	l.answering, l.abandon = context.WithCancelCause(context.Background())
	l.life, l.end = context.WithCancelCause(l.answering)
	return l
}

// Life ends when the node is closed (its cause is spec.ErrClosed) or fails (its cause wraps spec.ErrNotLeader and the reason).
func (l *lifecycle) Life() context.Context { return l.life }

// Fatal receives one error when the node cannot go on: its disk hangs or its log is damaged. It is there before Life ends.
// The process must end then, saying it; nothing this node holds may be trusted.
func (l *lifecycle) Fatal() <-chan error { return l.fatal }

// AcquireCall admits a call, which ends with release. It never waits.
func (l *lifecycle) AcquireCall() (release func(), err error) {
	if l.life.Err() == nil && l.calls.acquire() {
		return l.calls.release, nil
	}
	return nil, context.Cause(l.life)
}

// waitFor returns nil when c is closed or receives a value, or the cause when ctx or life ends first.
func waitFor[T any](ctx, life context.Context, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-life.Done():
		return context.Cause(life)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
