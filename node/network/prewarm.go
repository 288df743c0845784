package network

import (
	"context"
	"sync"
	"time"
)

const (
	// prewarmCount is the number of attachments that are kept ready. Creating one takes about 10 ms and two processes, for
	// which a container's start would have to wait.
	prewarmCount = 2
	// refillDelay delays a refill, so that it does not compete with the container that just took an attachment.
	refillDelay = 250 * time.Millisecond
)

// prewarmed is a pool of ready attachments. It is filled after the first acquire, so a host that never uses bridge mode has
// none.
type prewarmed struct {
	create  func(ctx context.Context, id string) (record, error)
	destroy func(record) error

	mu     sync.Mutex
	ready  []record
	timer  *time.Timer // nil: no refill is scheduled or running
	closed bool
	busy   sync.WaitGroup
}

func newPrewarmed(make func(ctx context.Context, id string) (record, error), drop func(record) error) *prewarmed {
	return &prewarmed{create: make, destroy: drop}
}

// acquire returns a ready attachment, if there is one, and schedules a refill.
func (s *prewarmed) acquire() (record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schedule()
	if len(s.ready) == 0 {
		return record{}, false
	}
	r := s.ready[0]
	s.ready = s.ready[1:]
	return r, true
}

// schedule schedules a refill. The caller holds the lock.
func (s *prewarmed) schedule() {
	if s.timer != nil || s.closed {
		return
	}
	s.busy.Add(1)
	s.timer = time.AfterFunc(refillDelay, s.refill)
}

// refill creates the missing attachments. It does not retry a failure: the next container creates its own attachment and
// reports the error.
func (s *prewarmed) refill() {
	defer s.busy.Done()
	for s.needsMore() {
		r, err := s.create(context.Background(), prewarmPrefix+newSandbox())
		if err != nil {
			break
		}
		s.mu.Lock()
		s.ready = append(s.ready, r)
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.timer = nil
	s.mu.Unlock()
}

func (s *prewarmed) needsMore() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && len(s.ready) < prewarmCount
}

// close removes the attachments and stops refills.
func (s *prewarmed) close() error {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil && s.timer.Stop() {
		s.busy.Done()
	}
	s.mu.Unlock()
	s.busy.Wait()
	for _, r := range s.ready {
		if err := s.destroy(r); err != nil {
			return err
		}
	}
	s.ready = nil
	return nil
}
