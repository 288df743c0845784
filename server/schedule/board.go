package schedule

import "math/bits"

// board is what the hosts of a cluster are to one class of requests. It is a knock-out tournament: a host that changed plays
// its few matches again, and the winner of all is known.
type board struct {
	options []option
	winners []int32 // winners[1] of all; winners[k] of 2k and 2k+1; the second half are the hosts themselves
	upTo    int     // entries of crew.changed that are in it
	used    uint64  // crew.decisions when it was asked last
}

// nobody fills up the tournament to a power of two.
const nobody = -1

// newBoard holds the tournament of these options.
func newBoard(options []option) *board {
	half := 1 << bits.Len(uint(max(len(options)-1, 0)))
	b := &board{options: options, winners: make([]int32, 2*half)}
	for i := range half {
		b.winners[half+i] = nobody
		if i < len(options) {
			b.winners[half+i] = int32(i)
		}
	}
	for k := half - 1; k > 0; k-- {
		b.play(k)
	}
	return b
}

// play decides one match; of equals the host with the lower id wins, which is always on the left.
func (b *board) play(k int) {
	left, right := b.winners[2*k], b.winners[2*k+1]
	b.winners[k] = left
	if right != nobody && b.options[right].better(&b.options[left]) {
		b.winners[k] = right
	}
}

// set changes what one host is.
func (b *board) set(at int, o option) {
	b.options[at] = o
	for k := (len(b.winners)/2 + at) / 2; k > 0; k /= 2 {
		b.play(k)
	}
}

// best is the host for the next task; nil when all refuse.
func (b *board) best() *option {
	if at := b.winners[1]; at != nobody && b.options[at].refusal.Reason == "" {
		return &b.options[at]
	}
	return nil
}
