package consensus

import "sync"

// inFlightCalls counts the calls in progress, so that shutdown can let them finish. After close it admits no call, and a call
// that asks is never kept waiting. The zero value is open.
type inFlightCalls struct {
	mu     sync.Mutex
	calls  int
	closed bool
	idle   chan struct{} // made by close; closed when the last call has ended
}

// acquire admits a call, which ends with release; false after close.
func (d *inFlightCalls) acquire() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.calls++
	return true
}

func (d *inFlightCalls) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls--
	if d.closed && d.calls == 0 {
		close(d.idle)
	}
}

// close admits no call any more. The channel is closed when the calls in progress have ended. It is called once.
func (d *inFlightCalls) close() (idle <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed, d.idle = true, make(chan struct{})
	if d.calls == 0 {
		close(d.idle)
	}
	return d.idle
}
