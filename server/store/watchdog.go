package store

import (
	"fmt"
	"sync"
	"time"
)

// timeoutTicks is the number of ticks without a result after which the disk counts as hung. A pause of the machine or of the
// process costs one tick, however long it lasts.
const timeoutTicks = 5

// watchdog follows one call until it stops.
type watchdog struct {
	call  string
	store *Store

	mu    sync.Mutex
	left  int // ticks left; 0 when the call has returned
	timer *time.Timer
}

// startWatchdog starts the watchdog of a call and returns the function that stops it. A call that exceeds Options.CallTimeout
// is reported as fatal: the disk hangs, and only the end of the process lets the other servers replace this one.
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
