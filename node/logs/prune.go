package logs

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"pinion/packaging/tick"
	"pinion/raftfsm/spec"
)

// Retention is the time that a task's logs are kept after its last line, unless its log group has another.
const Retention = spec.LogRetention

const (
	// watchInterval is the time between two looks at the free space of the disk.
	watchInterval = 5 * time.Second
	// scanInterval is the time after which the logs are added up even if the disk does not fill.
	scanInterval = 5 * time.Minute
)

// Watch holds the logs to their limits and removes those older than they are kept, until ctx ends. Logs are added up when the disk
// has filled by a part of the limit, because that takes as long as there are many.
func (s *Store) Watch(ctx context.Context, limits Limits, log *slog.Logger) {
	tick := tick.New(watchInterval)
	defer tick.Stop()
	var scanned, pruned time.Time
	var before int64 // free when the logs were added up
	var deleted map[string]int64
	for {
		now, free := time.Now(), s.freeSpace()
		if now.Sub(scanned) >= scanInterval || before-free > limits.Bytes/16 || free < limits.Free {
			s.hold(limits, log)
			scanned, before = now, s.freeSpace()
		}
		if latest := s.deleted(); now.Sub(pruned) >= time.Hour || !maps.Equal(latest, deleted) {
			if err := s.Prune(now); err != nil {
				log.Warn("old logs could not be removed, they take space", "error", err)
			}
			pruned, deleted = now, latest
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
