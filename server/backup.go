package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pinion/packaging/atomicfile"
	"pinion/raftfsm"
)

const (
	backupInterval   = 24 * time.Hour
	maxBackups       = 7
	backupTimeLayout = "20060102T150405Z" // sorts by time
	backupSuffix     = ".snapshot"
)

// SaveSnapshot writes the state down, with a checksum at its end.
func (m *Member) SaveSnapshot(ctx context.Context, w io.Writer) error {
	view, err := m.View(ctx)
	if err != nil {
		return err
	}
	return view.WriteSnapshot(w)
}

// SnapshotInfo is what is in a snapshot.
type SnapshotInfo struct {
	Pool        string    `json:"pool"`
	CreatedAt   time.Time `json:"createdAt"` // of the pool
	Incarnation int       `json:"incarnation"`
	Index       uint64    `json:"index"` // of the last change in it
	Clusters    int       `json:"clusters"`
	Hosts       int       `json:"hosts"`
	Definitions int       `json:"definitions"`
	Tasks       int       `json:"tasks"`
	Keys        int       `json:"keys"`
}

// InspectSnapshot reads a snapshot to its end. raftfsm.ErrDamaged, raftfsm.ErrNewer.
func InspectSnapshot(r io.Reader) (SnapshotInfo, error) {
	state := raftfsm.NewState()
	if err := state.Restore(r); err != nil {
		return SnapshotInfo{}, err
	}
	view := state.View()
	info := SnapshotInfo{
		Index: view.Index(), Incarnation: view.Settings().Incarnation, Clusters: len(view.Clusters()), Hosts: len(view.Hosts("")),
		Definitions: len(view.Definitions("")), Tasks: len(view.Tasks("")), Keys: len(view.AccessKeys()),
	}
	if pool := view.Pool(); pool != nil {
		info.Pool, info.CreatedAt = pool.ID, pool.CreatedAt
	}
	return info, nil
}

// backupLoop has every server write its state down once a day, under snapshots/ in the data directory, and keep the last
// seven. It is the state as this server has it: a backup must not depend on a leader.
func (m *Member) backupLoop() {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		if own := m.localServer(); own != nil {
			if err := m.backUpIfDue(own.state.View()); err != nil {
				m.log.Error("the daily snapshot of the pool cannot be written", "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-m.ctx.Done():
			return
		}
	}
}

// backUpIfDue writes a snapshot when the newest is a day old, and forgets old ones.
func (m *Member) backUpIfDue(view *raftfsm.View) error {
	dir := filepath.Join(m.cfg.Dir, "snapshots")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	known, err := filepath.Glob(filepath.Join(dir, "*"+backupSuffix))
	if err != nil {
		return err
	}
	slices.Sort(known)
	now := m.cfg.Now().UTC()
	if len(known) > 0 {
		newest, err := time.Parse(backupTimeLayout+backupSuffix, filepath.Base(known[len(known)-1]))
		if err == nil && now.Sub(newest) < backupInterval {
			return nil
		}
	}
	if view.Pool() == nil { // it has just begun to follow the pool
		return nil
	}
	var text bytes.Buffer
	if err := view.WriteSnapshot(&text); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, now.Format(backupTimeLayout)+backupSuffix), text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	var failed []error
	for _, old := range known[:max(0, len(known)+1-maxBackups)] {
		failed = append(failed, os.Remove(old))
	}
	return errors.Join(failed...)
}
