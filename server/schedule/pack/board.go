package pack

import (
	"math"
	"math/bits"
)

// board is what the hosts were worth to one shape when it was last asked for. It is a knock-out tournament: a host whose
// score changes plays its few matches again, and the winner of all is known.
type board struct {
	scores  []float64 // by host; refused where the shape does not fit
	winners []int32   // winners[1] of all; winners[k] of 2k and 2k+1; the second half are the hosts themselves
	upTo    int       // entries of Packer.changed that are in the scores
}

// refused is the score of a host that the shape does not fit on.
var refused = math.Inf(-1)

// nobody fills up the tournament to a power of two.
const nobody = -1

// newBoard holds the tournament of these scores.
func newBoard(scores []float64) *board {
	half := 1 << bits.Len(uint(max(len(scores)-1, 0)))
	b := &board{scores: scores, winners: make([]int32, 2*half)}
	for i := range half {
		b.winners[half+i] = nobody
		if i < len(scores) {
			b.winners[half+i] = int32(i)
		}
	}
	for k := half - 1; k > 0; k-- {
		b.play(k)
	}
	return b
}

// play decides one match; of equals the host in front wins, which is always on the left.
func (b *board) play(k int) {
	left, right := b.winners[2*k], b.winners[2*k+1]
	b.winners[k] = left
	if right != nobody && b.scores[right] > b.scores[left] {
		b.winners[k] = right
	}
}

// set changes the score of one host.
func (b *board) set(host int, score float64) {
	if b.scores[host] == score {
		return
	}
	b.scores[host] = score
	for k := (len(b.winners)/2 + host) / 2; k > 0; k /= 2 {
		b.play(k)
	}
}

// best is the first host with the highest score, nobody when all refuse.
func (b *board) best() int {
	if len(b.scores) == 0 {
		return nobody
	}
	if best := b.winners[1]; b.scores[best] != refused {
		return int(best)
	}
	return nobody
}

// draw is one of the hosts that fit, nobody when all refuse.
func (b *board) draw(c chooser) int {
	var fitting []int
	for i, score := range b.scores {
		if score != refused {
			fitting = append(fitting, i)
		}
	}
	if len(fitting) == 0 {
		return nobody
	}
	return fitting[c.choose(len(fitting))]
}
