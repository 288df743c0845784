// Package watch wakes goroutines that wait for a change of the state. It knows nothing of what has changed.
package watch

import (
	"sync"
	"sync/atomic"
)

// Signal wakes all that wait for the next change. The zero value is ready, and it is safe for concurrent use.
type Signal struct {
	mu sync.Mutex
	c  chan struct{}
}

// Wait returns a channel that the next Notify closes.
func (s *Signal) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

// Notify wakes all that wait.
func (s *Signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}

// Versions counts changes, and wakes all that wait for the next. The zero value is ready, and it is safe for concurrent use.
type Versions struct {
	signal Signal
	count  atomic.Uint64
}

// Wait returns how many changes there were, and a channel that the next one closes.
func (v *Versions) Wait() (version uint64, changed <-chan struct{}) {
	changed = v.signal.Wait()
	return v.count.Load(), changed
}

// NotifyIf counts a change, if it is one, and wakes all that wait.
func (v *Versions) NotifyIf(changed bool) {
	if changed {
		v.count.Add(1)
		v.signal.Notify()
	}
}

// Keys wakes those that wait for changes of something with a key. The zero value is ready, and it is safe for concurrent use.
type Keys struct {
	mu    sync.Mutex
	byKey map[string]chan struct{}
}

// Wait returns a channel that is closed by the next notification of the key; it is closed already when changed reports that the caller
// has missed one. No notification comes between that and Wait's return.
func (k *Keys) Wait(key string, changed func() bool) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if changed() {
		missed := make(chan struct{})
		close(missed)
		return missed
	}
	if k.byKey == nil {
		k.byKey = map[string]chan struct{}{}
	}
	if k.byKey[key] == nil {
		k.byKey[key] = make(chan struct{})
	}
	return k.byKey[key]
}

// Notify wakes those that wait for one of the keys. The change has been committed already.
func (k *Keys) Notify(keys ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, key := range keys {
		if i == 0 || key != keys[i-1] { // the tasks of a host mostly come together
			k.wake(key)
		}
	}
}

// NotifyAll wakes those that wait for any key.
func (k *Keys) NotifyAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range k.byKey {
		k.wake(key)
	}
}

func (k *Keys) wake(key string) {
	if waiting := k.byKey[key]; waiting != nil {
		close(waiting)
		delete(k.byKey, key)
	}
}
