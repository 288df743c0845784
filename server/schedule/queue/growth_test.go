package queue

import (
	"fmt"
	"testing"
	"time"
)

// churn places and ends one task of each of so many teams, each in a cluster of its own.
func churn(q *Queue, teams int) {
	for n := range teams {
		item := newItem(n, n%9, of(fmt.Sprint("team-", n)))
		item.Cluster = fmt.Sprint("cluster-", n)
		q.Add(item)
		q.Round(start, 1, everywhere{})
		q.Teams.EndUsage(item.ID(), start, start)
	}
}

// everywhere is a Placer with room for everything.
type everywhere struct{}

func (everywhere) Place(*Item, bool) bool          { return true }
func (everywhere) Reserve(*Item) (time.Time, bool) { return start, true }

func TestTeamsAndClustersThatAreGoneAreForgotten(t *testing.T) {
	q := New()
	churn(q, 20_000)
	if kept := len(q.Teams.byName) + len(q.buckets) + len(q.offered) + len(q.clusters) + len(q.Teams.usage); kept > 2*minTeamSweep {
		t.Errorf("an empty queue keeps %d teams, %d buckets (%d offered), %d clusters and %d usages", len(q.Teams.byName), len(q.buckets), len(q.offered), len(q.clusters), len(q.Teams.usage))
	}
}

func TestATeamIsKeptWhileItsUsageCounts(t *testing.T) {
	q := New()
	q.Teams.Set("quota", 3, 1)
	q.Teams.Charge("busy", 3600, start.Add(-time.Hour), start)
	churn(q, 1000)
	if _, quota := q.Teams.Usage("quota"); quota != 3 {
		t.Errorf("a team without tasks has a quota of %d, want 3", quota)
	}
	if share := q.Teams.lookup("busy").fairShare(start); share < 3000 {
		t.Errorf("a team that has used an hour of a GPU just now has a fair share of %f", share)
	}
	q.Teams.lookup("busy").advance(start.Add(60 * HalfLife))
	churn(q, 1000)
	if q.Teams.byName["busy"] != nil {
		t.Error("a team whose usage has decayed to nothing is kept")
	}
}

// BenchmarkPickAfterManyTeams is one placement in a queue that 20,000 teams have used before.
func BenchmarkPickAfterManyTeams(b *testing.B) {
	q := New()
	churn(q, 20_000)
	for n := 0; b.Loop(); n++ {
		item := newItem(n, 1, of("last"))
		q.Add(item)
		q.Round(start, 1, everywhere{})
		q.Teams.EndUsage(item.ID(), start, start)
	}
}
