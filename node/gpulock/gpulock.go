// Package gpulock gives each GPU of a host to one task at a time. The pool's ledger does so already; the lock is the
// host's own guarantee.
package gpulock

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"pinion/gpu"
)

// Locks holds one lock per GPU of this host. A GPU changes owners only when its last task's containers are gone and no
// process has the device open.
type Locks struct {
	source gpu.Source
	log    *slog.Logger

	mu        sync.Mutex
	owners    map[string]string // GPU UUID -> task id
	knownIdle map[string]bool   // GPUs that were found idle after their last task
	changed   chan struct{}     // closed and replaced at each release
}

// New makes the locks of a host with these GPUs, all of them free.
func New(source gpu.Source, log *slog.Logger) *Locks {
	return &Locks{source: source, log: log, owners: map[string]string{}, knownIdle: map[string]bool{}, changed: make(chan struct{})}
}

// Claim records the GPUs of a container that runs already. It does not wait: the container has the devices open.
func (l *Locks) Claim(taskID string, uuids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uuid := range uuids {
		if owner, ok := l.owners[uuid]; ok && owner != taskID {
			l.log.Error("two tasks hold one GPU", "gpu", uuid, "task", taskID, "other", owner)
			continue
		}
		l.owners[uuid] = taskID
	}
}

// Acquire waits until the task can own all the GPUs, and takes them together or not at all. GPUs that it owns already
// stay its own. unchecked are the GPUs to wait for with WaitIdle, because no check has found them idle since their last
// task: all GPUs after a start of the agent, normally none, so that a start does not have to list processes.
func (l *Locks) Acquire(ctx context.Context, taskID string, uuids []string) (unchecked []string, err error) {
	logged := false
	for {
		unchecked, owner, changed := l.tryAcquire(taskID, uuids)
		if owner == "" {
			return unchecked, nil
		}
		if !logged {
			l.log.Info("task waits for a GPU that another task of this host still holds", "task", taskID, "holder", owner)
			logged = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryAcquire takes the GPUs, or returns the owner of one of them and the channel that tells of a release.
func (l *Locks) tryAcquire(taskID string, uuids []string) (unchecked []string, owner string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uuid := range uuids {
		if owner, ok := l.owners[uuid]; ok && owner != taskID {
			return nil, owner, l.changed
		}
	}
	for _, uuid := range uuids {
		l.owners[uuid] = taskID
		if !l.knownIdle[uuid] {
			unchecked = append(unchecked, uuid)
		}
		delete(l.knownIdle, uuid)
	}
	return unchecked, "", nil
}

// HeldBy lists the GPUs that the task owns now.
func (l *Locks) HeldBy(taskID string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var uuids []string
	for uuid, owner := range l.owners {
		if owner == taskID {
			uuids = append(uuids, uuid)
		}
	}
	slices.Sort(uuids)
	return uuids
}

// Release frees the GPUs that the task owns, after WaitIdle has found them idle.
func (l *Locks) Release(taskID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uuid, owner := range l.owners {
		if owner == taskID {
			delete(l.owners, uuid)
			l.knownIdle[uuid] = true
		}
	}
	close(l.changed)
	l.changed = make(chan struct{})
}
