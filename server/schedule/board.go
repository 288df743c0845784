package schedule

import "pinion/server/schedule/tournament"

// board is what the hosts of a cluster are to one class of requests, and which of them is the best.
type board struct {
	*tournament.Tournament
	options []option
	upTo    int    // entries of crew.changed that are in it
	used    uint64 // crew.decisions when it was asked last
}

// newBoard is the board of these options.
func newBoard(options []option) *board {
	b := &board{options: options}
	b.Tournament = tournament.New(len(options), func(at, other int) bool { return b.options[at].better(&b.options[other]) })
	return b
}

// set changes what one host is.
func (b *board) set(at int, o option) {
	b.options[at] = o
	b.Changed(at)
}

// best is the host for the next task, of equals the one with the lowest id; nil when all refuse.
func (b *board) best() *option {
	if at := b.Best(); at != tournament.Nobody && b.options[at].refusal.Reason == "" {
		return &b.options[at]
	}
	return nil
}
