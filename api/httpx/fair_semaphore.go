package httpx

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// FairSemaphore has slots for work that may take long and is worth waiting for. Each holder of access keys has so many of them at most, and waits for its
// own before it waits for one of all: however much one asks for, others wait for so many at most. It is safe for concurrent use.
type FairSemaphore struct {
	perHolder int64
	all       *semaphore.Weighted

	mu sync.Mutex
	of map[string]*holderSlots
}

// holderSlots are those of a holder.
type holderSlots struct {
	own   *semaphore.Weighted
	users int
}

// NewFairSemaphore makes one of a size, of which each holder has so many at most.
func NewFairSemaphore(size, perHolder int64) *FairSemaphore {
	return &FairSemaphore{perHolder: perHolder, all: semaphore.NewWeighted(size), of: map[string]*holderSlots{}}
}

// FairSlot is the slot of one caller. nil is one that needs none. It is used by one goroutine at a time.
type FairSlot struct {
	of     *FairSemaphore
	holder string
	own    *holderSlots // nil: the work is over
	has    bool
}

// For is a slot of a holder that is not taken yet. End must be called.
func (t *FairSemaphore) For(holder string) *FairSlot {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.of[holder]
	if own == nil {
		own = &holderSlots{own: semaphore.NewWeighted(t.perHolder)}
		t.of[holder] = own
	}
	own.users++
	return &FairSlot{of: t, holder: holder, own: own}
}

// Begin waits for a slot as long as ctx lasts. It does nothing when the work is over.
func (t *FairSlot) Begin(ctx context.Context) error {
	if t == nil || t.own == nil || t.has {
		return nil
	}
	if err := t.own.own.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := t.of.all.Acquire(ctx, 1); err != nil {
		t.own.own.Release(1)
		return err
	}
	t.has = true
	return nil
}

// Pause gives the slot back until Begin: while somebody else sets the pace.
func (t *FairSlot) Pause() {
	if t == nil || !t.has {
		return
	}
	t.has = false
	t.of.all.Release(1)
	t.own.own.Release(1)
}

// End says that the work is over. It may be called more than once.
func (t *FairSlot) End() {
	if t == nil || t.own == nil {
		return
	}
	t.Pause()
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.own.users--; t.own.users == 0 {
		delete(t.of.of, t.holder)
	}
	t.own = nil
}
