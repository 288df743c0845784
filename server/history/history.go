package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// Times of the loops.
const (
	flushDelay    = time.Second // from the end of a task to its record on disk, when nothing is slow
	pruneInterval = 10 * time.Second
	pruneSteps    = 32 // of one try
	minRetry      = time.Second
	maxRetry      = 5 * time.Minute
)

// Config of a History. All fields but Read and Limits are required.
type Config struct {
	Path   string         // of the file
	State  *raftfsm.State // that it follows
	Limits Limits
	Now    func() time.Time
	Log    *slog.Logger

	// Others are the addresses of the other servers, and Read reads from one of them; nil: there are none.
	Others func() []string
	Read   func(ctx context.Context, address string, r Request) (Transfer, error)
}

// History keeps the tasks that ended in a Store, and answers questions about them. It follows the state of this server, in a goroutine
// of its own: no change of the state waits for it, and when its disk fails, it says so and the pool goes on. It is safe for concurrent
// use.
type History struct {
	cfg    Config
	store  atomic.Pointer[Store]
	err    atomic.Pointer[error] // why there is no store
	broken chan error            // why the store has to be opened again
	filled chan struct{}         // there are gaps to fill
	ready  atomic.Bool           // the store knows its gaps: it has followed the state once

	reached atomic.Pointer[Cursor] // how far the state was followed last
}

// New makes a History, which does nothing before Run.
func New(cfg Config) *History {
	h := &History{cfg: cfg, broken: make(chan error, 1), filled: make(chan struct{}, 1)}
	h.unavailable(errors.New("it is being opened"))
	return h
}

// errUnavailable is the error of all questions while there is no store.
func (h *History) unavailable(err error) {
	err = fmt.Errorf("the history of this server (%s) cannot be read: %w: %w", h.cfg.Path, err, spec.ErrUnavailable)
	h.err.Store(&err)
}

// Run opens the store and follows the state until ctx ends. A store that cannot be opened or written is tried again, after five
// minutes at most; one that is damaged is set aside, another one is begun, and what is readable of the damaged one is taken over.
func (h *History) Run(ctx context.Context) {
	delays := backoff.Backoff{Min: minRetry, Max: maxRetry}
	for ctx.Err() == nil {
		began := time.Now()
		err := h.runStore(ctx)
		if ctx.Err() != nil {
			return
		}
		h.unavailable(err)
		h.cfg.Log.Error("the history of ended tasks cannot be kept, the pool goes on without it", "file", h.cfg.Path, "error", err)
		if errors.Is(err, errOtherPool) {
			h.setAside(suffixOtherPool)
		} else if errors.Is(err, ErrDamaged) {
			h.setAside(suffixDamaged)
		}
		if time.Since(began) > maxRetry {
			delays.Reset()
		}
		if delays.Wait(ctx) != nil {
			return
		}
	}
}

func (h *History) runStore(ctx context.Context) error {
	store, err := OpenStore(h.cfg.Path)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	h.ready.Store(false)
	h.reached.Store(nil)
	select {
	case <-h.broken: // it was about the store before
	default:
	}
	h.store.Store(store)
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		if err := h.takeOver(ctx, store); err != nil {
			h.report(err)
			return
		}
		h.fillGaps(ctx, store)
	}()
	f := &follower{History: h, store: store}
	err = f.follow(ctx)
	h.store.Store(nil)
	cancel()
	<-filled
	if !errors.Is(err, ErrDamaged) { // else a transaction that panicked may still hold its locks
		err = errors.Join(err, store.Close())
	}
	return err
}

// use has a question answered from the store.
func (h *History) use(do func(*Store) error) error {
	s := h.store.Load()
	if s == nil {
		return *h.err.Load()
	}
	err := do(s)
	if errors.Is(err, ErrDamaged) && h.store.Load() == s {
		h.report(err)
	}
	return err
}

// report has the store opened again.
func (h *History) report(broken error) {
	select {
	case h.broken <- broken:
	default:
	}
}

// Find is Store.Find.
func (h *History) Find(q ended.Query) (page ended.Page, err error) {
	err = h.use(func(s *Store) error { page, err = s.Find(q); return err })
	return page, err
}

// Task is Store.Task.
func (h *History) Task(id string) (task *ended.Task, err error) {
	err = h.use(func(s *Store) error { task, err = s.Task(id); return err })
	return task, err
}

// IDs is Store.IDs.
func (h *History) IDs(prefix string, limit int) (ids []string, err error) {
	err = h.use(func(s *Store) error { ids, err = s.IDs(prefix, limit); return err })
	return ids, err
}

// Usage is Store.Usage.
func (h *History) Usage(q ended.UsageQuery) (usage ended.Usage, err error) {
	err = h.use(func(s *Store) error { usage, err = s.Usage(q); return err })
	return usage, err
}

// Read is Store.Read. A store that does not know its gaps yet is not read: another server would take what it has for everything.
func (h *History) Read(r Request) (part Transfer, err error) {
	if !h.ready.Load() {
		return part, fmt.Errorf("the history of this server (%s) is being opened: %w", h.cfg.Path, spec.ErrUnavailable)
	}
	err = h.use(func(s *Store) error { part, err = s.Read(r); return err })
	return part, err
}

// fillGaps fills the gaps of the store from the other servers until ctx ends: when there is a new one, and again after a while.
func (h *History) fillGaps(ctx context.Context, store *Store) {
	if h.cfg.Read == nil {
		return
	}
	delays := backoff.Backoff{Min: minRetry, Max: maxRetry}
	for {
		if h.fillOnce(ctx, store) {
			delays.Reset()
		}
		timer := time.NewTimer(delays.Next())
		select {
		case <-timer.C:
		case <-h.filled:
			delays.Reset()
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// fillOnce asks each other server for what is missing; progress: a gap has become smaller.
func (h *History) fillOnce(ctx context.Context, store *Store) (progress bool) {
	for _, address := range h.cfg.Others() {
		m, err := store.meta()
		if err != nil || len(m.Gaps) == 0 {
			return progress
		}
		for _, gap := range m.Gaps {
			err := store.fill(gap, func(r Request) (Transfer, error) { return h.cfg.Read(ctx, address, r) })
			if err != nil {
				h.cfg.Log.Warn("a part of the history cannot be fetched from another server, will try again", "server", address, "error", err)
				break
			}
			if after, err := store.meta(); err == nil && len(after.Gaps) == 0 {
				h.cfg.Log.Info("the history of ended tasks is whole again")
				return true
			}
			progress = true
		}
	}
	return progress
}
