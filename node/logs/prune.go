package logs

import (
	"context"
	"log/slog"
	"time"
)

// Kept is how long the logs of a task stay after it wrote its last line.
const Kept = 7 * 24 * time.Hour

// KeepPruned forgets logs that are older than Kept, now and once an hour, until ctx ends.
func (s *Store) KeepPruned(ctx context.Context, log *slog.Logger) {
	hourly := time.NewTicker(time.Hour)
	defer hourly.Stop()
	for {
		if err := s.Prune(time.Now().Add(-Kept)); err != nil {
			log.Warn("old logs could not be removed, they take space", "error", err)
		}
		select {
		case <-hourly.C:
		case <-ctx.Done():
			return
		}
	}
}
