package pack

import (
	"math"

	"pinion/server/schedule/tournament"
)

// board is what the hosts were worth to one shape when it was last asked for, and which of them is worth most.
type board struct {
	*tournament.Tournament
	scores []float64 // by host; refused where the shape does not fit
	upTo   int       // entries of Packer.changed that are in the scores
}

// refused is the score of a host that the shape does not fit on.
var refused = math.Inf(-1)

// nobody is the host when all refuse.
const nobody = tournament.Nobody

// newBoard is the board of these scores.
func newBoard(scores []float64) *board {
	return &board{
		Tournament: tournament.New(len(scores), func(host, other int) bool { return scores[host] > scores[other] }),
		scores:     scores,
	}
}

// set changes the score of one host.
func (b *board) set(host int, score float64) {
	if b.scores[host] == score {
		return
	}
	b.scores[host] = score
	b.Changed(host)
}

// best is the first host with the highest score, nobody when all refuse.
func (b *board) best() int {
	if best := b.Best(); best != nobody && b.scores[best] != refused {
		return best
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
