package logs

import (
	"context"
	"log/slog"
	"time"
)

// Retention is the time that a task's logs are kept after its last line.
const Retention = 7 * 24 * time.Hour

// PruneHourly removes logs that are older than Retention, now and once an hour, until ctx ends.
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
