package consensus

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/tick"
	"pinion/server/store"
)

const (
	logBoundInterval = time.Second
	// logBoundPause is the pause after a snapshot that failed, until the next one is tried.
	logBoundPause = time.Minute
	// minTrailingLogs are kept behind a snapshot however large they are: those that are on their way to followers.
	minTrailingLogs = 32
)

// logBound keeps the log within its bytes. Raft counts entries, and looks every two minutes: a host or a key that has large ones recorded
// could fill the disks of all servers meanwhile, and bolt gives no space back.
type logBound struct {
	raft      *raft.Raft
	store     *store.Store
	snapshots raft.SnapshotStore
	most      int64 // bytes, see Config.MaxLog
	log       *slog.Logger
	now       func() time.Time

	records, bytes int64     // that the log had taken in at the last snapshot of this bound
	again          time.Time // no snapshot before this; zero unless one has failed
}

// run holds the log to its bound until ctx ends.
func (b *logBound) run(ctx context.Context) {
	tick := tick.New(logBoundInterval)
	defer tick.Stop()
	for {
		if err := b.enforce(); err != nil && !errors.Is(err, raft.ErrRaftShutdown) {
			b.log.Warn("the log is larger than it should be, and no snapshot can be taken that would shorten it", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// enforce takes a snapshot when the log has grown by half its bound since the last one, or by the size of the state where that is larger: so
// snapshots write little more than the log does. Of the log it keeps what the other half has room for.
func (b *logBound) enforce() error {
	records, bytes := b.store.Written()
	grown := bytes - b.bytes
	if grown < b.most/2 || b.now().Before(b.again) || grown < b.stateSize() {
		return nil
	}
	average := grown / max(1, records-b.records)
	if err := b.compact(min(trailingLogs, max(minTrailingLogs, uint64(b.most/2/max(1, average))))); err != nil {
		b.again = b.now().Add(logBoundPause)
		return err
	}
	b.records, b.bytes, b.again = records, bytes, time.Time{}
	return nil
}

// compact takes a snapshot and leaves so many entries behind it.
func (b *logBound) compact(trailing uint64) error {
	conf := b.raft.ReloadableConfig()
	usual := conf
	conf.TrailingLogs = trailing
	if err := b.raft.ReloadConfig(conf); err != nil {
		return err
	}
	err := b.raft.Snapshot().Error()
	return errors.Join(err, b.raft.ReloadConfig(usual))
}

// stateSize is the size of the newest snapshot, 0 when there is none.
func (b *logBound) stateSize() int64 {
	known, err := b.snapshots.List()
	if err != nil || len(known) == 0 {
		return 0
	}
	return known[0].Size
}
