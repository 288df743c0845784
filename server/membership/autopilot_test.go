package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	autopilot "github.com/hashicorp/raft-autopilot"
)

// Servers are written as letters: L leads, V votes, N has no vote, n has none and is not healthy; an l or v is one that is
// not wanted any more, and an s has become healthy a moment ago.
func TestVotesAreGivenAndTakenInOddNumbers(t *testing.T) {
	now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC) // by the pool's clock, which need not be the machine's
	promoter := &cappedPromoter{now: func() time.Time { return now }, began: now.Add(-time.Hour)}
	for _, c := range []struct {
		name, servers         string
		promote, demote, lead string
	}{
		{"one more vote would make two", "LN", "", "", ""},
		{"two more make three", "LNN", "12", "", ""},
		{"one of two is not healthy", "LNn", "", "", ""},
		{"one of two was not healthy a moment ago", "LNs", "", "", ""},
		{"all is well", "LVV", "", "", ""},
		{"a vote moves when the new server is ready", "LVvN", "3", "2", ""},
		{"and stays until then", "LVvn", "", "", ""},
		{"both votes go when one server is wanted", "Lvv", "", "12", ""},
		{"a leader that is to go hands over first", "lVVN", "3", "", "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state := &autopilot.State{Servers: map[raft.ServerID]*autopilot.ServerState{}}
			for i, letter := range c.servers {
				kind := autopilot.RaftNonVoter
				switch strings.ToUpper(string(letter)) {
				case "L":
					kind = autopilot.RaftLeader
				case "V":
					kind = autopilot.RaftVoter
				}
				id := raft.ServerID(fmt.Sprint(i))
				health := autopilot.ServerHealth{Healthy: letter != 'n', StableSince: now.Add(-time.Minute)}
				if letter == 's' {
					health.StableSince = now.Add(-time.Millisecond)
				}
				state.Servers[id] = &autopilot.ServerState{
					Server: autopilot.Server{ID: id, Ext: promotionHint{wanted: strings.ContainsRune("LVNns", letter), since: time.Unix(int64(i), 0)}},
					State:  kind, Health: health,
				}
			}
			changes := promoter.CalculatePromotionsAndDemotions(&autopilot.Config{ServerStabilizationTime: time.Second}, state)
			for what, got := range map[string][2]string{
				"promoted": {joinIDs(changes.Promotions), c.promote},
				"demoted":  {joinIDs(changes.Demotions), c.demote},
				"to lead":  {string(changes.Leader), c.lead},
			} {
				if got[0] != got[1] {
					t.Errorf("%s: %q, not %q", what, got[0], got[1])
				}
			}
		})
	}
}

// A leader that has just begun cannot have seen any server healthy for long: it gives votes at once.
func TestALeaderThatHasJustBegunWaitsForNoServer(t *testing.T) {
	now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	promoter := &cappedPromoter{now: func() time.Time { return now }}
	config := &autopilot.Config{ServerStabilizationTime: time.Second}
	if got := promoter.stabilization(config, now); got != 0 {
		t.Errorf("it waits for %v", got)
	}
	if got := promoter.stabilization(config, now.Add(2*time.Second)); got != time.Second {
		t.Errorf("later it waits for %v", got)
	}
}

func joinIDs(ids []raft.ServerID) string {
	slices.Sort(ids)
	var text strings.Builder
	for _, id := range ids {
		text.WriteString(string(id))
	}
	return text.String()
}
