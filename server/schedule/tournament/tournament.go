// Package tournament knows the best of many players, of which one changes at a time: a knock-out in which whoever changed
// plays its few matches again.
package tournament

import "math/bits"

// None is the best of no players.
const None = -1

// Tournament is one of players that are known by their numbers, from 0. It is for one goroutine at a time.
type Tournament struct {
	beats   func(player, other int) bool
	winners []int32 // winners[1] of all; winners[k] of 2k and 2k+1; the second half are the players themselves
}

// New plays a tournament of so many players. beats says whether a player is better than one with a lower number, which wins
// among equals.
func New(players int, beats func(player, other int) bool) *Tournament {
	half := 1 << bits.Len(uint(max(players-1, 0)))
	t := &Tournament{beats: beats, winners: make([]int32, 2*half)}
	for i := range half {
		t.winners[half+i] = None
		if i < players {
			t.winners[half+i] = int32(i)
		}
	}
	for k := half - 1; k > 0; k-- {
		t.play(k)
	}
	return t
}

// play decides one match; the player with the lower number is always on the left.
func (t *Tournament) play(k int) {
	left, right := t.winners[2*k], t.winners[2*k+1]
	t.winners[k] = left
	if right != None && t.beats(int(right), int(left)) {
		t.winners[k] = right
	}
}

// Changed plays the matches of a player again.
func (t *Tournament) Changed(player int) {
	for k := (len(t.winners)/2 + player) / 2; k > 0; k /= 2 {
		t.play(k)
	}
}

// Best is the player that beats all others, Nobody without players.
func (t *Tournament) Best() int { return int(t.winners[1]) }
