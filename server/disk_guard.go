package server

import (
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/server/store"
)

// Raft gives up the leadership when it cannot write, and panics when it cannot write a term. So a disk that fills up
// is met before Raft notices: below MinFree only what frees space is recorded, and that, like Raft's own records,
// finds room in the blocks that the store has set aside. Nothing is remembered, so there is nothing to reset when
// space comes back.

// checkDisk says whether there is disk left to record the command.
func (s *Server) checkDisk(c raftfsm.Command) error {
	if allowedWhenFull(c) {
		return nil
	}
	return s.CheckWritable()
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

// CheckWritable is ErrReadOnly with what to do while there is too little disk, nil otherwise.
func (s *Server) CheckWritable() error {
	free, err := store.FreeSpace(s.cfg.Dir)
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrReadOnly, err)
	}
	if free >= s.cfg.MinFree {
		return nil
	}
	return fmt.Errorf("%w: of the disk under %s %d MiB are free and it needs %d; stop tasks or delete files (see du -xh %[2]s/..), it goes on by itself",
		ErrReadOnly, s.cfg.Dir, free>>20, s.cfg.MinFree>>20)
}

// preferDiskFull prefers a full disk as the reason why nothing was recorded.
func (s *Server) preferDiskFull(err error) error {
	if full := s.CheckWritable(); full != nil {
		return fmt.Errorf("%w (%w)", full, err)
	}
	return err
}

// diskPollInterval is how often the disk is looked at when nobody writes.
const diskPollInterval = time.Second

// watchDisk says when the disk gets full and when there is room again, and keeps the log's blocks allocated.
func (s *Server) watchDisk() {
	tick := time.NewTicker(diskPollInterval)
	defer tick.Stop()
	for {
		s.pollDisk()
		select {
		case <-tick.C:
		case <-s.life.Done():
			return
		}
	}
}

func (s *Server) pollDisk() {
	err := s.CheckWritable()
	low := err != nil
	if low != s.diskLow.Swap(low) {
		if low {
			s.log.Error("nothing new is recorded until there is room on the disk; running tasks run on and reads are answered", "error", err)
		} else {
			s.log.Info("there is room on the disk again, changes are recorded")
		}
	}
	if low {
		return
	}
	if err := s.store.Preallocate(); err != nil {
		s.log.Debug("cannot set disk space aside for the log", "error", err)
	}
}
