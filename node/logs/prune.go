package logs

import (
	"context"
	"log/slog"
	"time"
)

// Retention is how long the logs of a task stay after it wrote its last line.
const Retention = 7 * 24 * time.Hour

// PruneHourly forgets logs that are older than Kept, now and once an hour, until ctx ends.
func (s *Store) PruneHourly(ctx context.Context, log *slog.Logger) {
	hourly := time.NewTicker(time.Hour)
	defer hourly.Stop()
	for {
		if err := s.Prune(time.Now().Add(-Retention)); err != nil {
			log.Warn("old logs could not be removed, they take space", "error", err)
		}
		select {
		case <-hourly.C:
		case <-ctx.Done():
			return
		}
	}
}
