package logs

import (
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// watcher wakes followers when a file of their task's logs changes. All followers of a store share one inotify instance, of which
// a machine has few, and which exists while somebody follows. Where inotify refuses, no follower is woken: they poll besides.
type watcher struct {
	mu        sync.Mutex
	inotify   *fsnotify.Watcher                     // nil while nobody follows
	followers map[string]map[chan struct{}]struct{} // by directory
}

// watch wakes its channel after changes in dir, which has to exist. It returns nil when inotify refuses.
func (w *watcher) watch(dir string) *subscription {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inotify == nil {
		started, err := fsnotify.NewWatcher()
		if err != nil {
			return nil
		}
		w.inotify, w.followers = started, map[string]map[chan struct{}]struct{}{}
		go w.wake(started)
	}
	if err := w.inotify.Add(dir); err != nil {
		w.closeUnused()
		return nil
	}
	if w.followers[dir] == nil {
		w.followers[dir] = map[chan struct{}]struct{}{}
	}
	s := &subscription{watcher: w, dir: dir, changed: make(chan struct{}, 1)}
	w.followers[dir][s.changed] = struct{}{}
	return s
}

// wake wakes the followers of each directory with a change, until the instance is closed. After an overflow of inotify's queue,
// which is an error, they poll.
func (w *watcher) wake(inotify *fsnotify.Watcher) {
	go func() {
		for range inotify.Errors {
		}
	}()
	for event := range inotify.Events {
		w.mu.Lock()
		for changed := range w.followers[filepath.Dir(event.Name)] {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		w.mu.Unlock()
	}
}

// closeUnused closes the instance without followers. The kernel takes tens of milliseconds for that, which nobody waits for.
func (w *watcher) closeUnused() {
	if len(w.followers) == 0 {
		go w.inotify.Close()
		w.inotify = nil
	}
}

// subscription is the watch of one follower. A nil one is never woken.
type subscription struct {
	watcher *watcher
	dir     string
	changed chan struct{}
}

// wakes returns the channel that receives after changes; several changes may be one.
func (s *subscription) wakes() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.changed
}

func (s *subscription) close() {
	if s == nil {
		return
	}
	w := s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followers[s.dir], s.changed)
	if len(w.followers[s.dir]) > 0 {
		return
	}
	delete(w.followers, s.dir)
	_ = w.inotify.Remove(s.dir) // it is gone with its directory
	w.closeUnused()
}
