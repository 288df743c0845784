package backup

import (
	"context"
	"io"

	"pinion/raftfsm"
)

// Saver writes snapshots of the pool, where this host leads.
type Saver struct {
	View func(ctx context.Context) (*raftfsm.View, error)
	// History is that of the ended tasks, for a snapshot of the state at an index.
	History func(ctx context.Context, index uint64) (History, error)
}

// SaveSnapshot writes the state, with a checksum at its end, and the history of ended tasks if it is asked for. A history that cannot be
// read is not missed: the snapshot says why it has none.
func (s Saver) SaveSnapshot(ctx context.Context, w io.Writer, withHistory bool) error {
	view, err := s.View(ctx)
	if err != nil {
		return err
	}
	if !withHistory {
		return view.WriteSnapshot(w)
	}
	past, err := s.History(ctx, view.Index())
	if err != nil {
		past = Without(err)
	}
	return Write(w, view, past)
}
