// Package tournament is a tournament tree: it keeps the best of n players in O(log n) per change, by replaying only the
// matches of the changed player.
package tournament

import "math/bits"

// None is the best player of an empty tournament.
const None = -1

// Tournament is a tournament tree over players numbered from 0. It is not safe for concurrent use.
type Tournament struct {
	beats   func(player, other int) bool
	winners []int32 // winners[1] of all; winners[k] of 2k and 2k+1; the second half are the players themselves
}

// New plays a tournament. beats reports whether a player is better than another one with a lower number; the lower number
// wins among equals.
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

// Best returns the player that beats all others; None without players.
func (t *Tournament) Best() int { return int(t.winners[1]) }
