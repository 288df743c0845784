// Package merge shows the logs of several tasks as one, in the order of time over all of their hosts.
package merge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

const (
	// MaxTasks is how many tasks are shown at once: each holds some lines here.
	MaxTasks = 1000
	// maxStreams is how many of their logs are read at once; the others take turns.
	maxStreams = 16
)

// Source is a task whose log is shown, and what its lines begin with.
type Source struct {
	Task  client.Task
	Label string
}

// Merger reads the logs of tasks and emits their lines in the order of time. What is there when a task is added is in order with that of all
// others; lines that are written later are in order for each task, and for all of them as far as they arrive within 0.3 s.
type Merger struct {
	inv     *invocation.Invocation
	query   client.LogQuery // of each task; its Task is not used
	queues  *queues
	streams *semaphore
	readers sync.WaitGroup
	cancel  context.CancelFunc
	ctx     context.Context // of the readers

	mu     sync.Mutex
	failed []string // labels of the tasks of whose logs lines are missing
	hosts  map[string]string
}

// New returns a merger without tasks, whose readers end with ctx. It is to be run and closed.
func New(ctx context.Context, inv *invocation.Invocation, q client.LogQuery) *Merger {
	m := &Merger{inv: inv, query: q, queues: newQueues(time.Now), streams: newSemaphore(maxStreams)}
	m.ctx, m.cancel = context.WithCancel(ctx)
	return m
}

// Add begins to read the log of a task. Beyond MaxTasks that have not ended, it is refused.
func (m *Merger) Add(s Source) error {
	if m.queues.count() >= MaxTasks {
		return fmt.Errorf("the logs of %d tasks are shown at once, at most: name fewer", MaxTasks)
	}
	q := m.queues.add(s)
	m.readers.Go(func() { m.read(m.ctx, q) })
	return nil
}

// Close says that no task is added any more: Run ends with the last of them.
func (m *Merger) Close() { m.queues.close() }

// Run emits the lines of all tasks, until those that were added have ended and no more are added, or ctx ends. It fails with the first error
// of emit, and at the end when lines are missing because a host did not answer.
func (m *Merger) Run(ctx context.Context, emit func(Source, client.LogLine) error) error {
	defer m.readers.Wait()
	defer m.cancel()
	for {
		from, line, found, pause := m.queues.take(false)
		switch found {
		case taken:
			_, _, next, _ := m.queues.take(true)
			line.More = next == taken
			if err := emit(from.Source, line); err != nil {
				return err
			}
		case over:
			return m.missing()
		case wait:
			if err := m.await(ctx, pause); err != nil {
				return err
			}
		}
	}
}

// await waits for a change of the queues, and not longer than pause unless that is 0.
func (m *Merger) await(ctx context.Context, pause time.Duration) error {
	var over <-chan time.Time
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-m.queues.changed:
	case <-over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// missing is the error for the tasks of whose logs lines are missing; nil when there is none.
func (m *Merger) missing() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.failed) == 0 {
		return nil
	}
	return fmt.Errorf("lines of %s are missing: %s", format.Plural(len(m.failed), "task"), format.List(m.failed))
}

// fail notes that lines of a task are missing.
func (m *Merger) fail(s Source, err error) {
	if m.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	m.inv.Notef("%s: %v. Its lines are missing, the others go on", m.name(s), err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = append(m.failed, s.Label)
}

// name is a task with its host, for people.
func (m *Merger) name(s Source) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hosts == nil {
		ctx, cancel := context.WithTimeout(m.ctx, time.Second)
		defer cancel()
		m.hosts, _ = m.inv.HostNames(ctx) // without them the id says it
		if m.hosts == nil {
			m.hosts = map[string]string{}
		}
	}
	id := client.ResourceID(s.Task.Instance)
	if id == "" {
		return s.Label
	}
	if host := m.hosts[id]; host != "" {
		return s.Label + " on host " + host
	}
	return s.Label + " on host " + format.ID(id)
}
