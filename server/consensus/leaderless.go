package consensus

import (
	"context"
	"log/slog"
	"time"

	"pinion/server/rpc"
)

const (
	// leaderlessAfter is how long a server is without a leader before it says so: longer than an election takes.
	leaderlessAfter = 5 * time.Second
	// leaderlessInterval is how often it says so again.
	leaderlessInterval = time.Minute
)

// logLeaderless says in the log when a server has been without a leader for long, and when that is over, until ctx ends: whatever is
// asked of it waits meanwhile, and an election that is never won has no other line.
func logLeaderless(ctx context.Context, leader *rpc.LeaderTracker, log *slog.Logger) {
	var since time.Time // zero while there is a leader
	said := false
	next := leaderlessAfter
	for {
		changed := leader.Changed()
		var due <-chan time.Time
		switch address, _ := leader.Leader(); {
		case address == "" && since.IsZero():
			since, next = time.Now(), leaderlessAfter
			fallthrough
		case address == "":
			due = time.After(next - time.Since(since))
		case said:
			log.Info("the pool has a leader again", "leader", address, "outage", time.Since(since).Round(time.Millisecond))
			fallthrough
		default:
			since, said = time.Time{}, false
		}
		select {
		case <-due:
			said, next = true, next+leaderlessInterval
			log.Warn("this server hears of no leader: requests wait for one and then fail, tasks run on. A leader needs a majority of the servers: "+
				"see whether they run, whether they reach one another, and whether their disks keep up", "outage", time.Since(since).Round(time.Millisecond))
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
