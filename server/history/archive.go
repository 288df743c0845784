package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm"
	"pinion/raftfsm/ended"
)

// endOfTime is later than any task.
var endOfTime = time.Unix(0, 1<<63-1)

// archivePatience is how long an archive waits for what has ended in the state that it belongs to. That state has the rest, for an hour.
const (
	archivePatience = 10 * time.Second
	archivePoll     = 50 * time.Millisecond
)

// Archive is what a snapshot of a state needs of the history: what the store says of itself, and its blocks as they are on the disk. They are
// read as they are asked for, about a MiB at a time, and the store goes on meanwhile. index is that of the state.
func (h *History) Archive(ctx context.Context, index uint64) (about []byte, blocks iter.Seq2[[]byte, error], err error) {
	reached := h.waitReached(ctx, raftfsm.PositionAfter(index))
	var m *meta
	part, err := h.Read(Request{To: endOfTime})
	if err == nil {
		err = h.use(func(s *Store) (err error) { m, err = s.meta(); return err })
	}
	if err != nil {
		return nil, nil, err
	}
	if reached != nil {
		m.Cursor = *reached
	}
	if about, err = json.Marshal(m); err != nil {
		return nil, nil, err
	}
	return about, func(yield func([]byte, error) bool) {
		for {
			for _, block := range part.Blocks {
				if !yield(block, nil) {
					return
				}
			}
			if part.Next == "" {
				return
			}
			var err error
			if part, err = h.Read(Request{To: endOfTime, Page: part.Next}); err != nil {
				yield(nil, err)
				return
			}
		}
	}, nil
}

// waitReached waits until the state was followed to a position, and answers how far it was.
func (h *History) waitReached(ctx context.Context, position raftfsm.Position) *Cursor {
	ctx, cancel := context.WithTimeout(ctx, archivePatience)
	defer cancel()
	for {
		reached := h.reached.Load()
		if reached != nil && reached.Position.Compare(position) >= 0 || backoff.Sleep(ctx, archivePoll) != nil {
			return reached
		}
	}
}

// CountTasks verifies a block of an archive and counts its tasks.
func CountTasks(block []byte) (int, error) {
	codec, err := theCodec()
	if err != nil {
		return 0, err
	}
	records, err := codec.decode(block)
	return len(records), err
}

// Unarchive makes a store of an archive: in a file beside it, which gets its name when it is complete. A store that is there already is
// put aside under another name. Adopt makes it one of the pool's new incarnation.
func Unarchive(path, aside string, about []byte, blocks iter.Seq2[[]byte, error]) error {
	var m meta
	if err := json.Unmarshal(about, &m); err != nil {
		return fmt.Errorf("what the history says of itself: %w: %w", err, ErrDamaged)
	}
	partial := path + ".restoring"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := OpenStore(partial)
	if err != nil {
		return err
	}
	err = s.addBlocks(blocks)
	if err == nil {
		err = s.Add(nil, func(own *meta) { own.Cursor, own.Gaps, own.Pruned = m.Cursor, m.Gaps, m.Pruned })
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return errors.Join(fmt.Errorf("restore the history: %w", err), os.Remove(partial))
	}
	if err := os.Rename(path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(partial, path)
}

// addBlocks adds the tasks of blocks, some blocks in a transaction.
func (s *Store) addBlocks(blocks iter.Seq2[[]byte, error]) error {
	var tasks []ended.Task
	for block, err := range blocks {
		if err != nil {
			return err
		}
		records, err := s.codec.decode(block)
		if err != nil {
			return err
		}
		for i := range records {
			tasks = append(tasks, records[i].task)
		}
		if len(tasks) >= maxAdded {
			if err := s.Add(tasks, nil); err != nil {
				return err
			}
			tasks = tasks[:0]
		}
	}
	return s.Add(tasks, nil)
}
