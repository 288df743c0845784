package merge

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"pinion/api/cli/format"
	"pinion/api/cli/tasklog"
	"pinion/api/client"
	"pinion/packaging/backoff"
)

const (
	// silence is how long the log of a task may have nothing to read, before it is all here, until its host counts as one that does not answer. A search
	// has no such bound once its host has begun to answer: it may wait there for its turn, and find nothing for as long as the log is.
	silence = 20 * time.Second
	// turn is how long a stream without new lines keeps its slot while others wait for one.
	turn = time.Second
	// tries is how often a host that does not answer is asked again for a log that is not followed; a followed one has no limit.
	tries = 3
	// retryMin and retryMax bound the pause between two tries.
	retryMin, retryMax = time.Second, 5 * time.Second
)

var (
	errTurn   = errors.New("another log is read first")
	errSilent = fmt.Errorf("%w: nothing came for %v", client.ErrLogInterrupted, silence)
)

// stream is what is known of a stream while it is read.
type stream struct {
	heard atomic.Int64 // the time of the newest line
	full  atomic.Bool  // the reader waits for room, not for its host
	begun atomic.Bool  // its host answers
}

// read reads the log of one task: what is there, then, when it is followed, what is written.
func (m *Merger) read(ctx context.Context, q *queue) {
	defer m.queues.set(q, ended)
	position := tasklog.NewPosition(len(q.Task.Containers) < 2)
	query := m.query
	query.Task, query.Mark = q.Task.ID(), query.Follow
	switch err := m.readAll(ctx, q, position, &query); {
	case err != nil:
		m.fail(q.Source, err)
	case query.Follow && !q.Task.Stopped():
		m.sayEnded(ctx, q.Source)
	}
}

// sayEnded says that a task that was followed has ended.
func (m *Merger) sayEnded(ctx context.Context, s Source) {
	why := ""
	if tasks, _, err := m.inv.Client.DescribeTasks(ctx, clusterOf(s.Task), []string{s.Task.ID()}); err == nil && len(tasks) == 1 {
		if why = format.ExitSummary(tasks[0]); why == "" {
			why = format.StopReason(tasks[0])
		}
	}
	if why != "" {
		why = ": " + why
	}
	m.inv.Notef("%s has ended%s", m.name(s), why)
}

// readAll reads to the end of what a query asks for, in turns, and through interruptions.
func (m *Merger) readAll(ctx context.Context, q *queue, position *tasklog.Position, query *client.LogQuery) error {
	told, left := false, tries
	for delays := (backoff.Backoff{Min: retryMin, Max: retryMax, Sleep: m.inv.Sleep}); ; {
		if err := m.awaitRoom(ctx, q); err != nil {
			return err
		}
		progressed, err := m.readTurn(ctx, q, position, query, &stream{})
		if progressed {
			left = tries
			delays.Reset()
			if told {
				m.inv.Notef("%s answers again", m.name(q.Source))
				told = false
			}
		}
		switch {
		case err == nil, ctx.Err() != nil:
			return err
		case errors.Is(err, errTurn):
			delays.Reset()
			continue
		case !client.IsUnavailable(err):
			return err
		case !query.Follow && left == 0:
			return err
		}
		left--
		if !told {
			m.inv.Notef("%s does not answer: %v. The others go on; it is tried again", m.name(q.Source), err)
			told = true
		}
		m.queues.pass(q)
		if err := delays.Wait(ctx); err != nil {
			return err
		}
	}
}

// awaitRoom waits until the queue takes lines.
func (m *Merger) awaitRoom(ctx context.Context, q *queue) error {
	for !m.queues.hasRoom(q) {
		select {
		case <-q.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// readTurn reads one stream until it ends, or until its slot is wanted while there is nothing to read or no room for it.
func (m *Merger) readTurn(ctx context.Context, q *queue, position *tasklog.Position, query *client.LogQuery, s *stream) (progressed bool, err error) {
	release, err := m.streams.acquire(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.heard.Store(time.Now().UnixNano())
	go m.watch(ctx, cancel, q, s)
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { s.begun.Store(true) }})
	err = m.inv.Client.Logs(traced, position.Resume(*query), func(line client.LogLine) error {
		s.heard.Store(time.Now().UnixNano())
		progressed = true
		if line.Mark {
			query.Tail = 0 // what comes now is new
			position.Follow()
			m.queues.set(q, followed)
			return nil
		}
		if !position.Advance(line) || m.queues.push(q, line) {
			return nil
		}
		if m.streams.isContended() {
			return errTurn
		}
		s.full.Store(true)
		defer s.full.Store(false)
		return m.awaitRoom(ctx, q)
	})
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errTurn) || errors.Is(cause, errSilent)) {
		err = cause
	}
	return progressed, err
}

// watch ends a stream whose slot is wanted while it has nothing to read, and one whose host says nothing although lines are there to be read.
func (m *Merger) watch(ctx context.Context, end context.CancelCauseFunc, q *queue, s *stream) {
	tick := time.NewTicker(turn / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		follows := m.queues.follows(q)
		searches := m.query.Grep != "" && s.begun.Load()
		quiet := time.Since(time.Unix(0, s.heard.Load()))
		switch {
		case m.streams.isContended() && (s.full.Load() || follows && quiet > turn):
			end(errTurn)
		case !follows && !searches && !s.full.Load() && quiet > silence:
			end(errSilent)
		}
	}
}

// clusterOf is the cluster of a task, by its ARN.
func clusterOf(t client.Task) string {
	parts := strings.Split(t.ARN, "/")
	if len(parts) < 3 {
		return ""
	}
	return parts[len(parts)-2]
}
