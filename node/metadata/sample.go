package metadata

import (
	"context"
	"sync"
	"time"

	"pinion/node/runtime"
)

// sampleInterval is the least time between two samples: all questions within it have the same answer.
const sampleInterval = time.Second

// samples are the last two of each container.
type samples struct {
	mu   sync.Mutex
	last map[string]*usagePair // by container id
}

// usagePair is the usage of a container at two moments.
type usagePair struct {
	mu          sync.Mutex
	before, now runtime.Usage
}

// take samples the usage of a container, and returns it with the earlier sample. The first time, and after a restart, that is its start, when it had
// used nothing.
func (s *samples) take(ctx context.Context, id string, usage func(context.Context, string) (runtime.Usage, error)) (before, now runtime.Usage, err error) {
	p := s.of(id)
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.now.At) < sampleInterval {
		return p.before, p.now, nil
	}
	now, err = usage(ctx, id)
	if err != nil {
		return before, now, err
	}
	if p.before = p.now; p.before.At.IsZero() || now.CPU < p.before.CPU {
		p.before = beginning(now)
	}
	p.now = now
	return p.before, now, nil
}

// beginning is a moment before a sample at which a container had used nothing: so long before that it can have used what it has.
func beginning(now runtime.Usage) runtime.Usage {
	ago := max(sampleInterval, now.CPU)
	return runtime.Usage{At: now.At.Add(-ago), CPUs: now.CPUs, MachineCPU: max(0, now.MachineCPU-ago*time.Duration(now.CPUs))}
}

func (s *samples) of(id string) *usagePair {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]*usagePair{}
	}
	if s.last[id] == nil {
		s.last[id] = &usagePair{}
	}
	return s.last[id]
}

func (s *samples) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, id)
}
