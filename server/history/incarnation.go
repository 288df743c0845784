package history

import (
	"errors"
	"io/fs"
	"os"

	"pinion/raftfsm"
)

// Adopt makes the store of a server that nothing runs on one of a new incarnation of its pool, which that server begins at a log index. What
// it has is then no gap. Without a file there is nothing to do.
func Adopt(path string, incarnation int, index uint64) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s, err := OpenStore(path)
	if err != nil {
		return err
	}
	err = s.Add(nil, func(m *meta) {
		m.Cursor.Incarnation = incarnation
		if end := raftfsm.PositionAfter(index); m.Cursor.Position.Compare(end) > 0 {
			m.Cursor.Position = end
		}
	})
	return errors.Join(err, s.Close())
}
