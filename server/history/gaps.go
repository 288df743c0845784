package history

import (
	"slices"
	"time"

	"pinion/raftfsm/ended"
)

// addGap adds a gap and joins it with those that it touches.
func addGap(gaps []ended.Gap, more ended.Gap) []ended.Gap {
	if more.To.Before(more.From) {
		return gaps
	}
	all := append(slices.Clone(gaps), more)
	slices.SortFunc(all, func(a, b ended.Gap) int { return a.From.Compare(b.From) })
	joined := all[:1]
	for _, g := range all[1:] {
		last := &joined[len(joined)-1]
		if g.From.After(last.To) {
			joined = append(joined, g)
		} else if g.To.After(last.To) {
			last.To = g.To
		}
	}
	return joined
}

// cutGap takes a time out of gaps.
func cutGap(gaps []ended.Gap, known ended.Gap) (left []ended.Gap) {
	for _, g := range gaps {
		if known.To.Before(g.From) || g.To.Before(known.From) {
			left = append(left, g)
			continue
		}
		if g.From.Before(known.From) {
			left = append(left, ended.Gap{From: g.From, To: known.From})
		}
		if known.To.Before(g.To) {
			left = append(left, ended.Gap{From: known.To, To: g.To})
		}
	}
	return left
}

// commonGaps are the times that lie in one of the gaps and in the other gap.
func commonGaps(gaps []ended.Gap, other ended.Gap) (common []ended.Gap) {
	for _, g := range gaps {
		from, to := g.From, g.To
		if from.Before(other.From) {
			from = other.From
		}
		if other.To.Before(to) {
			to = other.To
		}
		if from.Before(to) {
			common = append(common, ended.Gap{From: from, To: to})
		}
	}
	return common
}

// dropOldGaps leaves out the times before oldest, of which nothing is kept.
func dropOldGaps(gaps []ended.Gap, oldest time.Time) []ended.Gap {
	return cutGap(gaps, ended.Gap{To: oldest})
}
