package pack

import (
	"math"

	"pinion/server/schedule/tournament"
)

// ranking is what the hosts were worth to one shape when it was last asked for, and which of them is worth most.
type ranking struct {
	*tournament.Tournament
	scores  []float64 // by host; refused where the shape does not fit
	applied int       // entries of Packer.changed that are in the scores
}

// refused is the score of a host that the shape does not fit on.
var refused = math.Inf(-1)

// noHost is the host when all refuse.
const noHost = tournament.None

// newRanking is the board of these scores.
func newRanking(scores []float64) *ranking {
	return &ranking{
		Tournament: tournament.New(len(scores), func(host, other int) bool { return scores[host] > scores[other] }),
		scores:     scores,
	}
}

// set changes the score of one host.
func (b *ranking) set(host int, score float64) {
	if b.scores[host] == score {
		return
	}
	b.scores[host] = score
	b.Changed(host)
}

// best is the first host with the highest score, nobody when all refuse.
func (b *ranking) best() int {
	if best := b.Best(); best != noHost && b.scores[best] != refused {
		return best
	}
	return noHost
}

// draw is one of the hosts that fit, nobody when all refuse.
func (b *ranking) draw(c chooser) int {
	var fitting []int
	for i, score := range b.scores {
		if score != refused {
			fitting = append(fitting, i)
		}
	}
	if len(fitting) == 0 {
		return noHost
	}
	return fitting[c.choose(len(fitting))]
}
