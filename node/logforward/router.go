package logforward

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"time"

	"pinion/node/firelens"
	"pinion/node/logs"
	"pinion/node/task"
)

// routed reports whether the lines are for the log router of the task.
func (f *forwarder) routed() bool { return f.note.Log.Routed() }

// newRouterSender sends to the socket of the task's log router, as Docker's driver fluentd does for Amazon's agent.
func (f *forwarder) newRouterSender() sender {
	d := fluentd{note: &f.note, tag: f.note.Short, subSecond: true}
	return &socket{
		dial:   func(ctx context.Context) (net.Conn, error) { return firelens.Dial(ctx, f.note.Router) },
		encode: func(lines []logs.StreamLine) [][]byte { return [][]byte{d.message(lines, "")} },
		frame:  func(m []byte) []byte { return m },
	}
}

// routerGone reports whether the log router of the task has ended for good. After a restart of the agent that is known before its tasks are: the files of a
// router are there as long as it may run.
func (f *forwarder) routerGone() bool {
	if f.gone.Load() {
		return true
	}
	_, err := os.Lstat(f.note.Router)
	return errors.Is(err, fs.ErrNotExist)
}

// routerRetryMax is the longest pause after failures to reach a log router: that of its own task costs nothing to try.
const routerRetryMax = 2 * time.Second

func (f *forwarder) retryMax() time.Duration {
	if f.routed() {
		return routerRetryMax
	}
	return retryMax
}

// lastLines bounds the wait of a log router's stop for the ends of the logs that it gets.
const lastLines = 5 * time.Second

// Prestop has a log router take the ends of the logs of its task before it is stopped: the containers that write them have ended.
func (h *hook) Prestop(ctx context.Context, c *task.Container) {
	if c.Def.FirelensConfiguration == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastLines)
	defer cancel()
	for _, routed := range h.all.routed(h.taskID) {
		routed.over.Store(true)
		select {
		case <-routed.ended:
		case <-ctx.Done():
			return
		}
	}
}

// routed are the forwarders of a task whose lines its log router gets.
func (f *Forwarders) routed(task string) (all []*forwarder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for of, running := range f.running {
		if of.Task == task && running.routed() {
			all = append(all, running)
		}
	}
	return all
}
