package changelog

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

type change Position

func (c change) LogPosition() Position { return Position(c) }

func (c change) Size() int { return 1 }

// large is a change that keeps a quarter of MaxBytes.
type large struct{ change }

func (large) Size() int { return MaxBytes / 4 }

// However large the changes are, and though there are few, what is remembered of them has a bound.
func TestLargeChangesAreRememberedWithinABound(t *testing.T) {
	var c Log[large]
	for index := range uint64(100) {
		c.Append(index+1, []large{{change{Index: index + 1}}})
		if len(c.list) > 4 {
			t.Fatalf("%d are remembered after %d", len(c.list), index+1)
		}
	}
	if _, _, err := c.After(Position{Index: 50}, 10); !errors.As(err, new(*CompactedError)) {
		t.Errorf("those before are %v", err)
	}
	if newest, _, err := c.After(Position{Index: 99}, 10); err != nil || len(newest) != 1 {
		t.Errorf("the newest: %v, %v", newest, err)
	}
}

// Whoever reads on from where they were misses nothing, reads nothing twice, or is told that something is missing.
func TestReadersMissNothingOrAreToldSo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var c Log[change]
		var last Position
		index, seen, told := uint64(0), 0, 0
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			for range rapid.SampledFrom([]int{0, 1, 3, 2000}).Draw(r, "entries") {
				index++
				made := make([]change, rapid.SampledFrom([]int{0, 1, 2}).Draw(r, "changes"))
				for i := range made {
					made[i] = change{index, i}
				}
				c.Append(index, made)
				told += len(made)
			}
			if rapid.IntRange(0, 9).Draw(r, "a snapshot comes") == 0 {
				index += 10
				c.Reset(index)
			}
			for rapid.Bool().Draw(r, "read on") {
				some, _, err := c.After(last, rapid.IntRange(1, 500).Draw(r, "at most"))
				if forgotten, ok := errors.AsType[*CompactedError](err); ok {
					last, seen, told = forgotten.Oldest, 0, behind(&c, forgotten.Oldest)
					continue
				}
				for _, change := range some {
					if change.LogPosition().Compare(last) <= 0 {
						r.Fatalf("%v came after %v", change.LogPosition(), last)
					}
					last, seen = change.LogPosition(), seen+1
				}
			}
			if left := behind(&c, last); last.Compare(c.compactedTo) >= 0 && seen+left != told {
				r.Fatalf("%d were seen, %d are to come, and %d were made", seen, left, told)
			}
			if len(c.list) > Max*5/4 {
				r.Fatalf("%d are remembered", len(c.list))
			}
		}
	})
}

// behind is how many changes are known after a mark, 0 when that is not known any more.
func behind(c *Log[change], mark Position) int {
	some, _, err := c.After(mark, 2*Max)
	if err != nil {
		return 0
	}
	return len(some)
}
