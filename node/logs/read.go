package logs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"pinion/raftfsm/spec"
)

// Read emits the lines that match the query, oldest first, and merges the containers of a task by time. Without Follow it
// returns after the lines that exist now. With Follow it continues until done is closed and the lines written by then
// are emitted. A task without logs has no lines, which is not an error. It returns the first error of emit, or the
// context's, or that of a pattern that is none.
func (s *Store) Read(ctx context.Context, q spec.LogQuery, done <-chan struct{}, emit func(spec.LogLine) error) error {
	chosen, err := newSelection(q)
	if err != nil {
		return err
	}
	r := &query{store: s, spec: q, chosen: chosen, emit: emit, cursors: map[string]*cursor{}}
	defer r.close()
	ticker := time.NewTicker(s.poll)
	defer ticker.Stop()
	for {
		r.last = !q.Follow || isClosed(done)
		if err := r.drain(ctx); err != nil {
			return err
		}
		if r.last {
			return nil
		}
		if err := r.mark(); err != nil {
			return err
		}
		if r.watch() {
			continue // what was written before the watch began
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
		case <-ticker.C:
		case <-r.changes.wakes():
			time.Sleep(followDelay)
		}
	}
}

// followDelay is the wait of a woken follower for more, so that a task that writes without a pause wakes it at most a thousand times a second.
const followDelay = time.Millisecond

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// mark emits the zero line, once, where it is asked for.
func (r *query) mark() error {
	if !r.spec.Mark || r.marked {
		return nil
	}
	r.marked = true
	return r.emit(spec.LogLine{})
}

// query is one Read in progress.
type query struct {
	store   *Store
	spec    spec.LogQuery
	chosen  selection
	last    bool // what is written later is not asked for
	emit    func(spec.LogLine) error
	task    *os.Root // nil while the task has no logs
	started bool     // the tail was skipped to
	marked  bool     // that all is emitted that was there
	cursors map[string]*cursor

	changes *subscription // nil: not watched
	watched bool          // it was tried
}

// watch begins to watch a task that has logs, once, and reports whether it began now.
func (r *query) watch() bool {
	if r.task == nil || r.watched {
		return false
	}
	r.watched = true
	r.changes = r.store.writes.watch(filepath.Join(r.store.dir, fileName(r.spec.Task)))
	return r.changes != nil
}

func (r *query) close() {
	r.changes.close()
	for _, c := range r.cursors {
		c.close()
	}
	if r.task != nil {
		r.task.Close()
	}
}

// drain emits every line that exists now.
func (r *query) drain(ctx context.Context) error {
	if err := r.openNew(); err != nil {
		return fmt.Errorf("logs of task %s: %w", r.spec.Task, err)
	}
	skip, err := r.beforeTail(ctx)
	if err != nil {
		return err
	}
	emit := func(line spec.LogLine) error {
		if skip > 0 {
			skip--
			return nil
		}
		return r.emit(line)
	}
	if err := r.merge(ctx, emit); err != nil {
		return err
	}
	if r.task != nil {
		r.started = true
	}
	return nil
}

// beforeTail counts the lines that precede the tail. Each cursor starts at the last lines of its own container, so those of
// several containers together are more than the tail, and where lines are left out or put together it starts at the first. They are read twice instead of being kept, because memory must not
// grow with a number that a client chooses. Lines that are written in between make the tail longer.
func (r *query) beforeTail(ctx context.Context) (skip int, err error) {
	if r.started || r.spec.Tail == 0 || len(r.cursors) < 2 && !r.hasSelective() {
		return 0, nil
	}
	counted := &query{store: r.store, spec: r.spec, chosen: r.chosen, last: r.last, cursors: map[string]*cursor{}}
	defer counted.close()
	if err := counted.openNew(); err != nil {
		return 0, fmt.Errorf("logs of task %s: %w", r.spec.Task, err)
	}
	lines := 0
	err = counted.merge(ctx, func(spec.LogLine) error { lines++; return nil })
	return max(0, lines-r.spec.Tail), err
}

func (r *query) hasSelective() bool {
	for _, c := range r.cursors {
		if c.isSelective() {
			return true
		}
	}
	return false
}

// openNew opens logs of containers that appeared since the last call.
func (r *query) openNew() error {
	if r.task == nil {
		task, err := openTask(r.store.dir, r.spec.Task)
		if task == nil || err != nil {
			return err
		}
		r.task = task
	}
	name := fileName(r.spec.Container)
	names := []string{name}
	if _, err := r.task.Stat(name + forwardSuffix + ".log"); err == nil {
		names = append(names, name+forwardSuffix)
	}
	if r.spec.Container == "" {
		var err error
		if names, err = containers(r.task); err != nil {
			return err
		}
	}
	for _, name := range names {
		if r.cursors[name] != nil {
			continue
		}
		tail := r.spec.Tail
		if r.started {
			tail = 0
		}
		c, err := newCursor(r.task, name, tail, r.chosen)
		if err != nil {
			return err
		}
		r.cursors[name] = c
	}
	return nil
}

// openTask opens a task's directory in the store; nil when there is none.
func openTask(dir, task string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		var opened *os.Root
		if opened, err = root.OpenRoot(fileName(task)); err == nil {
			return opened, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return nil, err
}

// merge repeatedly emits the oldest line of all cursors, until none has a line. A line is emitted when it is known whether there
// are more.
func (r *query) merge(ctx context.Context, emit func(spec.LogLine) error) error {
	var line *spec.LogLine
	for ctx.Err() == nil {
		next, err := r.take(ctx)
		if line != nil {
			line.More = next != nil
			if err := emit(*line); err != nil {
				return err
			}
		}
		if next == nil || err != nil {
			return err
		}
		line = next
	}
	return ctx.Err()
}

// take returns the oldest line of all cursors; nil when none has a line.
func (r *query) take(ctx context.Context) (*spec.LogLine, error) {
	var oldest *cursor
	for _, c := range r.cursors {
		line, err := c.peek(ctx, r.last)
		if err != nil {
			return nil, fmt.Errorf("log of container %s of task %s: %w", c.container, r.spec.Task, err)
		}
		if line != nil && (oldest == nil || before(line, oldest.next)) {
			oldest = c
		}
	}
	if oldest == nil {
		return nil, nil
	}
	line := oldest.next
	oldest.next = nil
	return line, nil
}

func before(a, b *spec.LogLine) bool {
	if !a.Time.Equal(b.Time) {
		return a.Time.Before(b.Time)
	}
	return a.Container < b.Container
}
