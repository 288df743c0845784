package consensus

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/virtualip"
	"pinion/server/store"
)

// Raft steps down when it cannot write an entry, and panics when it cannot write a term. So the guard acts before Raft notices
// a full disk: below MinFree only commands that free space are recorded. They and Raft's own records fit into the blocks that
// the store has preallocated. The guard keeps no state, so nothing needs a reset when space is free again.

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

// allowedWhenFull reports whether the command frees space (stopping tasks, recording that they stopped, removing them) or is a
// precondition of such commands: a pool begins with CreatePool, and a returning host exchanges assignments and reports only
// after PutHost. The consequences of a task's end must be recorded before the task is removed, and are bounded by the number
// of ended tasks. Virtual IPs move away from hosts that have died; they are few.
func allowedWhenFull(c raftfsm.Command) bool {
	switch c.(type) {
	case raftfsm.StopTask, raftfsm.ReportTasks, raftfsm.Reap, raftfsm.CreatePool, raftfsm.PutHost, raftfsm.RetryTasks, raftfsm.ResolveDependencies,
		raftfsm.Wrapped[virtualip.BecomeAssigner], raftfsm.Wrapped[virtualip.Assign]:
		return true
	}
	return false
}

// writable returns spec.ErrReadOnly with advice for the operator while the disk is below MinFree.
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

// CheckWritable returns spec.ErrReadOnly with advice for the operator while the disk is below MinFree.
func (n *Node) CheckWritable() error { return n.disk.writable() }

// PreferDiskFull returns err, wrapped in the full-disk error while the disk is below MinFree.
func (n *Node) PreferDiskFull(err error) error {
	if full := n.disk.writable(); full != nil {
		return fmt.Errorf("%w (%w)", full, err)
	}
	return err
}

// diskPollInterval is the interval of disk checks without writes.
const diskPollInterval = time.Second

// watch logs when the disk becomes full and when there is space again, and keeps the log's blocks allocated, until ctx ends.
func (g *diskGuard) watch(ctx context.Context) {
	tick := tick.New(diskPollInterval)
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
