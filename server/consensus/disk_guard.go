package consensus

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/store"
)

// Raft gives up the leadership when it cannot write, and panics when it cannot write a term. So a disk that fills up
// is met before Raft notices: below MinFree only what frees space is recorded, and that, like Raft's own records,
// finds room in the blocks that the store has set aside. Nothing is remembered, so there is nothing to reset when
// space comes back.

// diskGuard refuses changes while the disk is full.
type diskGuard struct {
	dir     string
	minFree uint64 // bytes
	store   *store.Store
	log     *slog.Logger
	low     atomic.Bool // the last poll found too little disk
}

// check is CheckWritable for a command.
func (g *diskGuard) check(c raftfsm.Command) error {
	if allowedWhenFull(c) {
		return nil
	}
	return g.writable()
}

// allowedWhenFull reports whether the command leads to free space (stopping tasks, hearing that they stopped, forgetting them) or
// is one without which nothing does: the pool begins with CreatePool, and a host that comes back hears what to stop,
// and is heard, only after PutHost. What follows from the end of a task has to be recorded before the task is forgotten, and
// is no more than has ended.
func allowedWhenFull(c raftfsm.Command) bool {
	switch c.(type) {
	case raftfsm.StopTask, raftfsm.ReportTasks, raftfsm.Reap, raftfsm.CreatePool, raftfsm.PutHost, raftfsm.RetryTasks, raftfsm.ResolveDependencies:
		return true
	}
	return false
}

// writable is spec.ErrReadOnly, with what to do, while there is too little disk.
func (g *diskGuard) writable() error {
	free, err := store.FreeSpace(g.dir)
	if err != nil {
		return fmt.Errorf("%w (%w)", spec.ErrReadOnly, err)
	}
	if free >= g.minFree {
		return nil
	}
	return fmt.Errorf("%w: of the disk under %s %d MiB are free and it needs %d; stop tasks or delete files (see du -xh %[2]s/..), it goes on by itself",
		spec.ErrReadOnly, g.dir, free>>20, g.minFree>>20)
}

// CheckWritable returns spec.ErrReadOnly, with what to do, while there is too little disk.
func (n *Node) CheckWritable() error { return n.disk.writable() }

// PreferDiskFull is err with a full disk as its reason when the disk is full.
func (n *Node) PreferDiskFull(err error) error {
	if full := n.disk.writable(); full != nil {
		return fmt.Errorf("%w (%w)", full, err)
	}
	return err
}

// diskPollInterval is how often the disk is looked at when nobody writes.
const diskPollInterval = time.Second

// watch logs when the disk becomes full and when there is space again, and keeps the log's blocks allocated, until ctx ends.
func (g *diskGuard) watch(ctx context.Context) {
	tick := time.NewTicker(diskPollInterval)
	defer tick.Stop()
	for {
		g.poll()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (g *diskGuard) poll() {
	err := g.writable()
	low := err != nil
	if low != g.low.Swap(low) {
		if low {
			g.log.Error("nothing new is recorded until there is room on the disk; running tasks run on and reads are answered", "error", err)
		} else {
			g.log.Info("there is room on the disk again, changes are recorded")
		}
	}
	if low {
		return
	}
	if err := g.store.Preallocate(); err != nil {
		g.log.Debug("cannot set disk space aside for the log", "error", err)
	}
}
