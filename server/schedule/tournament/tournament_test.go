package tournament

import (
	"testing"

	"pgregory.net/rapid"
)

// The best is always the first of those with the highest score, however scores change.
func TestTheBestIsTheFirstOfTheHighest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOfN(rapid.IntRange(0, 5), 0, 40).Draw(t, "scores")
		all := New(len(scores), func(player, other int) bool { return scores[player] > scores[other] })
		for range 20 {
			if got, want := all.Best(), highest(scores); got != want {
				t.Fatalf("the best of %v is %d, not %d", scores, want, got)
			}
			if len(scores) == 0 {
				return
			}
			player := rapid.IntRange(0, len(scores)-1).Draw(t, "player")
			scores[player] = rapid.IntRange(0, 5).Draw(t, "score")
			all.Changed(player)
		}
	})
}

func highest(scores []int) int {
	best := None
	for i, score := range scores {
		if best == None || score > scores[best] {
			best = i
		}
	}
	return best
}
