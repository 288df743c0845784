package exec

import (
	"io"
	"slices"
	"sync"
	"time"
)

// maxQueuedInput is how many bytes of input wait for the command to read them.
const maxQueuedInput = 256 << 10

// inputQueue is the input of a command, from the client who sends it to the command that reads it at its own pace. It is safe for concurrent use.
type inputQueue struct {
	mu     sync.Mutex
	change sync.Cond
	bytes  []byte
	ended  bool // nothing more comes
}

func newInputQueue() *inputQueue {
	q := &inputQueue{}
	q.change.L = &q.mu
	return q
}

// hasRoom reports whether there is room for more input.
func (q *inputQueue) hasRoom() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ended || len(q.bytes) < maxQueuedInput
}

// add queues input, whether there is room for it or not. Input after the end is dropped.
func (q *inputQueue) add(input []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.bytes = append(q.bytes, input...)
		q.change.Broadcast()
	}
}

// put queues input when there is room for it. It reports false when there was none for so long: nothing is queued then.
func (q *inputQueue) put(input []byte, patience time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	late := false
	if !q.ended && len(q.bytes) >= maxQueuedInput {
		defer time.AfterFunc(patience, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			late = true
			q.change.Broadcast()
		}).Stop()
	}
	for !q.ended && len(q.bytes) >= maxQueuedInput {
		if late {
			return false
		}
		q.change.Wait()
	}
	if !q.ended {
		q.bytes = append(q.bytes, input...)
		q.change.Broadcast()
	}
	return true
}

// close ends the input. What is queued is still read.
func (q *inputQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.change.Broadcast()
}

// Read waits for input.
func (q *inputQueue) Read(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.bytes) == 0 && !q.ended {
		q.change.Wait()
	}
	if len(q.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(p, q.bytes)
	q.bytes = slices.Delete(q.bytes, 0, n)
	q.change.Broadcast()
	return n, nil
}
