package invocation

import (
	"context"
	"sync/atomic"
	"time"

	"pinion/api/client"
	"pinion/packaging/backoff"
)

// TaskWatch reads one task again and again, until it is what the caller waits for: as soon as the pool tells of a change of it, by its
// stream of events, and besides after a pause. Without the stream (an older host, too many followers) the pauses begin short and grow.
// It is used by one goroutine.
type TaskWatch struct {
	inv         *Invocation
	cluster, id string
	changed     chan struct{}      // receives after a change; several changes may be one
	streaming   atomic.Bool        // changes are told
	end         context.CancelFunc // of the stream; nil: not begun
}

// WatchTask returns the watch of a task. It asks for nothing before Until, and is to be closed.
func (inv *Invocation) WatchTask(cluster, id string) *TaskWatch {
	return &TaskWatch{inv: inv, cluster: cluster, id: id, changed: make(chan struct{}, 1)}
}

// Close ends the stream of events.
func (w *TaskWatch) Close() {
	if w.end != nil {
		w.end()
	}
}

// Until reads the task until wanted is true of it, and returns it. Each read is passed to seen first.
func (w *TaskWatch) Until(ctx context.Context, wanted func(client.Task) bool, seen func(client.Task)) (task client.Task, err error) {
	poll := backoff.Backoff{Min: PollMin, Max: PollMax, Sleep: w.pause}
	err = poll.Retry(ctx, -1, func() (again bool, err error) {
		err = w.inv.RetryUnavailable(ctx, func() error {
			tasks, err := w.inv.DescribeTasks(ctx, w.cluster, []string{w.id})
			if err == nil {
				task = tasks[0]
			}
			return err
		})
		if err != nil {
			return false, err
		}
		seen(task)
		return !wanted(task), nil
	})
	return task, err
}

// pause waits for a change, at most d, or PollMax while changes are told.
func (w *TaskWatch) pause(ctx context.Context, d time.Duration) error {
	if w.end == nil {
		var stream context.Context
		stream, w.end = context.WithCancel(context.WithoutCancel(ctx))
		go w.stream(stream)
	}
	if w.streaming.Load() {
		d = PollMax
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	slept := make(chan error, 1)
	go func() { slept <- w.inv.Sleep(ctx, d) }()
	select {
	case <-w.changed:
		return nil
	case err := <-slept:
		return err
	}
}

// stream notes the changes that the pool tells of, until ctx ends or it tells of none. The stream begins with a heartbeat, upon which
// the task is read: it may have changed before.
func (w *TaskWatch) stream(ctx context.Context) {
	for query := (client.EventQuery{Cluster: w.cluster, Task: w.id, Types: "task", Follow: true}); ; {
		err := w.inv.Client.Events(ctx, query, func(client.Event) error {
			w.streaming.Store(true)
			select {
			case w.changed <- struct{}{}:
			default:
			}
			return nil
		})
		w.streaming.Store(false)
		if ctx.Err() != nil || !client.IsUnavailable(err) || backoff.Sleep(ctx, time.Second) != nil {
			return
		}
	}
}
