package pack

import (
	"math"

	"pinion/server/schedule/tournament"
)

// ranking caches the hosts' scores for one shape at its last use, with a tournament tree over them.
type ranking struct {
	*tournament.Tournament
	scores  []float64 // by host; refused where the shape does not fit
	applied int       // entries of Packer.changed that are in the scores
}

// refused is the score of a host on which the shape does not fit.
var refused = math.Inf(-1)

// noHost is returned when the shape fits on no host.
const noHost = tournament.None

// newRanking returns a ranking of these scores.
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

// best returns the first host with the highest score; noHost when the shape fits nowhere.
func (b *ranking) best() int {
	if best := b.Best(); best != noHost && b.scores[best] != refused {
		return best
	}
	return noHost
}

// draw returns a host drawn from those that fit; noHost when the shape fits nowhere.
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
