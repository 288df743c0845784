package task

import (
	"sync"
	"time"
)

// latch is an event that happens once.
type latch struct {
	once sync.Once
	done chan struct{} // closed when it has happened
}

func newLatch() *latch { return &latch{done: make(chan struct{})} }

// set marks the event as happened; repeating it changes nothing.
func (l *latch) set() { l.once.Do(func() { close(l.done) }) }

func (l *latch) happened() bool { return isClosed(l.done) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func utcNow() time.Time { return time.Now().UTC() }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
