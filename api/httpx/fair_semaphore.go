package httpx

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// FairSemaphore bounds long-running work. An owner of access keys has at most perOwner slots: a caller acquires one of its owner's first, then one of
// all, so no owner fills the queue for the others. It is safe for concurrent use.
type FairSemaphore struct {
	perOwner int64
	all      *semaphore.Weighted

	mu     sync.Mutex
	owners map[string]*ownerSlots
}

// ownerSlots are the slots of one owner.
type ownerSlots struct {
	own   *semaphore.Weighted
	users int
}

// NewFairSemaphore makes a semaphore of size slots, of which one owner has at most perOwner.
func NewFairSemaphore(size, perOwner int64) *FairSemaphore {
	return &FairSemaphore{perOwner: perOwner, all: semaphore.NewWeighted(size), owners: map[string]*ownerSlots{}}
}

// FairSlot is the slot of one caller. nil is one that needs none. It is used by one goroutine at a time.
type FairSlot struct {
	semaphore *FairSemaphore
	owner     string
	own       *ownerSlots // nil: closed
	has       bool
}

// Slot returns a slot for an owner, not acquired yet. Close must be called.
func (t *FairSemaphore) Slot(owner string) *FairSlot {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.owners[owner]
	if own == nil {
		own = &ownerSlots{own: semaphore.NewWeighted(t.perOwner)}
		t.owners[owner] = own
	}
	own.users++
	return &FairSlot{semaphore: t, owner: owner, own: own}
}

// Acquire waits for the slot as long as ctx lasts. After Close it does nothing.
func (t *FairSlot) Acquire(ctx context.Context) error {
	if t == nil || t.own == nil || t.has {
		return nil
	}
	if err := t.own.own.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := t.semaphore.all.Acquire(ctx, 1); err != nil {
		t.own.own.Release(1)
		return err
	}
	t.has = true
	return nil
}

// Release gives the slot back until the next Acquire, for the time in which another side sets the pace.
func (t *FairSlot) Release() {
	if t == nil || !t.has {
		return
	}
	t.has = false
	t.semaphore.all.Release(1)
	t.own.own.Release(1)
}

// Close releases the slot for good. It may be called more than once.
func (t *FairSlot) Close() {
	if t == nil || t.own == nil {
		return
	}
	t.Release()
	t.semaphore.mu.Lock()
	defer t.semaphore.mu.Unlock()
	if t.own.users--; t.own.users == 0 {
		delete(t.semaphore.owners, t.owner)
	}
	t.own = nil
}
