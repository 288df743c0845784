package store

import (
	"fmt"
	"sync"
	"time"
)

// timeoutTicks is how many times a call is found unfinished before the disk counts as hung. A machine or process that was
// paused in the middle of a call loses one tick, however long the pause was.
const timeoutTicks = 5

// watchdog follows one call until it stops.
type watchdog struct {
	call  string
	store *Store

	mu    sync.Mutex
	left  int // ticks; 0 when the call has returned
	timer *time.Timer
}

// startWatchdog starts the clock on a call and returns what stops it. A call that takes longer than Options.Patience is
// reported as fatal: the disk hangs, and only leaving the process frees the other servers from this one.
func (s *Store) startWatchdog(call string) (stop func()) {
	w := &watchdog{call: call, store: s, left: timeoutTicks}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(s.opts.CallTimeout/timeoutTicks, w.tick)
	return w.stop
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = 0
	w.timer.Stop()
}

func (w *watchdog) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		return
	}
	if w.left--; w.left > 0 {
		w.timer.Reset(w.store.opts.CallTimeout / timeoutTicks)
		return
	}
	if fail := w.store.fatalHandler(); fail != nil {
		fail(fmt.Errorf("the disk under %s hangs: %s has taken more than %s; this server leaves so that others can go on. "+
			"Check the disk (dmesg), then start pinion again", w.store.opts.Path, w.call, w.store.opts.CallTimeout))
	}
}
