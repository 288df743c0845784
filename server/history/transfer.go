package history

import (
	"bytes"
	"encoding/hex"
	"time"

	"go.etcd.io/bbolt"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/sortkey"
)

// PathRead is where a server reads from the history of another one.
const PathRead = "/peer/history"

// transferBytes is about the size of a Transfer: the last block may go beyond it.
const transferBytes = 1 << 20

// Request asks another server for a part of its history.
type Request struct {
	From, To time.Time // when the tasks stopped; a zero From is the beginning
	Page     string    // Transfer.Next of the part before; empty for the first
}

// Transfer is a part of a server's history: blocks as they are on its disk, the oldest first. They may hold tasks before and after what
// was asked for.
type Transfer struct {
	Blocks [][]byte
	Next   string      // Request.Page for the next part; empty: there is none
	Gaps   []ended.Gap // of the server that answers
}

// Read reads a part of the history.
func (s *Store) Read(r Request) (t Transfer, err error) {
	from := keyAt(sortkey.Time(r.From))
	if r.Page != "" {
		text, err := hex.DecodeString(r.Page)
		if err != nil || len(text) != len(from) {
			return t, ended.ErrPage
		}
		from = toKey(text)
	}
	err = s.view(func(tx *bbolt.Tx) error {
		m, err := readMeta(tx)
		if err != nil {
			return err
		}
		t.Gaps = m.Gaps
		c := tx.Bucket(bucketBlocks).Cursor()
		at, block := c.Seek(from[:])
		if at == nil || !bytes.Equal(at, from[:]) { // from lies within the block before
			if before, text := c.Prev(); before != nil {
				at, block = before, text
			} else {
				at, block = c.First()
			}
		}
		for size := 0; at != nil && toKey(at).moment() <= sortkey.Time(r.To); at, block = c.Next() {
			if size >= transferBytes {
				t.Next = hex.EncodeToString(at)
				return nil
			}
			size += len(block)
			t.Blocks = append(t.Blocks, bytes.Clone(block))
		}
		return nil
	})
	return t, err
}

// tasks unpacks a transfer.
func (s *Store) tasks(t Transfer) (tasks []ended.Task, err error) {
	for _, block := range t.Blocks {
		records, err := s.codec.decode(block)
		if err != nil {
			return nil, err
		}
		for i := range records {
			tasks = append(tasks, records[i].task)
		}
	}
	return tasks, nil
}

// fill fills a gap from what another server has. It returns when nothing more can be had there; what is missing there too stays a gap.
// Each part is on disk before the next one is asked for, so that it goes on where it ended.
func (s *Store) fill(gap ended.Gap, read func(Request) (Transfer, error)) error {
	request := Request{From: gap.From, To: gap.To}
	var missing []ended.Gap
	for first := true; ; first = false {
		part, err := read(request)
		if err != nil {
			return err
		}
		if first {
			missing = commonGaps(part.Gaps, gap)
		}
		tasks, err := s.tasks(part)
		if err != nil {
			return err
		}
		known := ended.Gap{From: gap.From, To: gap.To}
		if part.Next != "" {
			next, _ := hex.DecodeString(part.Next)
			known.To = time.Unix(0, toKey(next).moment())
		}
		err = s.Add(tasks, func(m *meta) {
			m.Gaps = cutGap(m.Gaps, known)
			for _, g := range commonGaps(missing, known) {
				m.Gaps = addGap(m.Gaps, g)
			}
		})
		if err != nil || part.Next == "" {
			return err
		}
		request.Page = part.Next
	}
}
