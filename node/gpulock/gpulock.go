// Package gpulock gives each GPU of a host to one task at a time, or to tasks that share it. The pool's ledger does so already; the lock is
// the host's own guarantee.
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
	owners    map[string]*owner // by GPU UUID
	knownIdle map[string]bool   // GPUs that were found idle after their last task
	changed   chan struct{}     // closed and replaced when a task can take what it could not before
}

// owner is the owner of a GPU: one task, or the tasks that share it.
type owner struct {
	tasks   []string
	shared  bool
	checked bool // no process of an earlier owner has the GPU open: more tasks may share it, unless the last one that does leaves
}

// admits reports whether the task can have the GPU beside its present owners.
func (o *owner) admits(taskID string, shared bool) bool {
	return o == nil || o.shared == shared && (slices.Contains(o.tasks, taskID) || shared && o.checked)
}

// New makes the locks of a host with these GPUs, all of them free.
func New(source gpu.Source, log *slog.Logger) *Locks {
	return &Locks{source: source, log: log, owners: map[string]*owner{}, knownIdle: map[string]bool{}, changed: make(chan struct{})}
}

// Claim records the GPUs of a container that runs already, and whether other tasks may share them. It does not wait: the container has the
// devices open.
func (l *Locks) Claim(taskID string, uuids []string, shared bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uuid := range uuids {
		if o := l.owners[uuid]; !o.admits(taskID, shared) {
			l.log.Error("two tasks hold one GPU", "gpu", uuid, "task", taskID, "holder", o.tasks[0])
			continue
		}
		l.own(uuid, taskID, shared).checked = true
	}
}

// own adds the task to the owners of a GPU.
func (l *Locks) own(uuid, taskID string, shared bool) *owner {
	o := l.owners[uuid]
	if o == nil {
		o = &owner{shared: shared}
		l.owners[uuid] = o
	}
	if !slices.Contains(o.tasks, taskID) {
		o.tasks = append(o.tasks, taskID)
	}
	return o
}

// Acquire waits until the task can own all the GPUs, or share them with tasks that share them too, and takes them together or not at all. GPUs
// that it owns already stay its own. unchecked are the GPUs to wait for with WaitIdle, and to tell Checked of, because no check has found them
// idle since their last task: all GPUs after a start of the agent, normally none, so that a start does not have to list processes.
func (l *Locks) Acquire(ctx context.Context, taskID string, uuids []string, shared bool) (unchecked []string, err error) {
	logged := false
	for {
		unchecked, owner, changed := l.tryAcquire(taskID, uuids, shared)
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

// tryAcquire takes the GPUs, or returns the owner of one of them and the channel that tells of a change.
func (l *Locks) tryAcquire(taskID string, uuids []string, shared bool) (unchecked []string, owner string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uuid := range uuids {
		if o := l.owners[uuid]; !o.admits(taskID, shared) {
			return nil, o.tasks[0], l.changed
		}
	}
	for _, uuid := range uuids {
		o := l.own(uuid, taskID, shared)
		if l.knownIdle[uuid] {
			o.checked = true
		} else if !shared || !o.checked && !slices.Contains(unchecked, uuid) {
			unchecked = append(unchecked, uuid) // of an owner alone again for each container that starts: an earlier one may still be there
		}
		delete(l.knownIdle, uuid)
	}
	return unchecked, "", nil
}

// Checked records that WaitIdle has found GPUs of the task idle. Others may share them from then on.
func (l *Locks) Checked(taskID string, uuids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, uuid := range uuids {
		if o := l.owners[uuid]; o != nil && slices.Contains(o.tasks, taskID) {
			o.checked = true
		}
	}
	l.wake()
}

// ReleaseShared frees the GPUs that the task shares with others, and returns those that it alone has. The task keeps these until Release, and
// no other task may share them any more: nobody comes to a GPU while it is made ready for its next owner.
func (l *Locks) ReleaseShared(taskID string) (alone []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uuid, o := range l.owners {
		at := slices.Index(o.tasks, taskID)
		switch {
		case at < 0:
		case len(o.tasks) > 1:
			o.tasks = slices.Delete(o.tasks, at, at+1)
		default:
			o.checked = false
			alone = append(alone, uuid)
		}
	}
	slices.Sort(alone)
	return alone
}

// Release frees the GPUs that the task has still after ReleaseShared, once WaitIdle has found them idle.
func (l *Locks) Release(taskID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uuid, o := range l.owners {
		if slices.Contains(o.tasks, taskID) {
			delete(l.owners, uuid)
			l.knownIdle[uuid] = true
		}
	}
	l.wake()
}

// Abandon gives up the GPUs of an owner that is no task, without a word on whether they are idle.
func (l *Locks) Abandon(owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uuid, o := range l.owners {
		if slices.Contains(o.tasks, owner) {
			delete(l.owners, uuid)
		}
	}
	l.wake()
}

// Shared lists the GPUs that tasks share.
func (l *Locks) Shared() (uuids []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uuid, o := range l.owners {
		if o.shared {
			uuids = append(uuids, uuid)
		}
	}
	return uuids
}

// wake lets the tasks that wait in Acquire look again. Called with the lock held.
func (l *Locks) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}
