package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm/ended"
)

// Names of files that were set aside, behind that of the history.
const (
	suffixDamaged   = ".damaged"    // what is readable of it is taken over
	suffixSalvaged  = ".salvaged"   // it was taken over; the operator may delete it
	suffixOtherPool = ".other-pool" // it is nobody's here
)

// Bounds of what is taken from a damaged file.
const (
	maxPageBytes   = 64 << 20 // of a page
	maxFoundBlocks = 1 << 20
)

// errForeign is why nothing of a damaged file is taken over.
var errForeign = errors.New("it does not say that it is of this pool")

// salvage adds what is readable of a damaged file of the same pool. It does not trust how pages lead to one another: it looks at each page
// for blocks, which have checksums. The pages that the file has freed may hold older copies of blocks, and the tasks of those are the same.
// lost is the number of blocks that were found and cannot be read; errForeign.
func (s *Store) salvage(ctx context.Context, file io.ReaderAt, size int64, pool string) (lost int, err error) {
	scan := scanner{file: file, size: size, pools: map[string]bool{}}
	for at := int64(0); at < size && ctx.Err() == nil; at += pageStep {
		scan.page(at)
	}
	if !scan.pools[pool] {
		return 0, errForeign
	}
	slices.SortFunc(scan.blocks, func(a, b foundBlock) int {
		return cmp.Or(record{key: a.key}.compare(record{key: b.key}), cmp.Compare(b.size, a.size))
	})
	var tasks []ended.Task
	for i, b := range scan.blocks {
		block := make([]byte, b.size)
		_, err := file.ReadAt(block, b.at)
		records, damage := s.codec.decode(block)
		if err != nil || damage != nil {
			lost++
		}
		for n := range records {
			tasks = append(tasks, records[n].task)
		}
		if len(tasks) < maxAdded && i < len(scan.blocks)-1 {
			continue
		}
		if ctx.Err() != nil {
			return lost, ctx.Err()
		}
		if err := s.Add(tasks, nil); err != nil {
			return lost, err
		}
		tasks = tasks[:0]
	}
	return lost, ctx.Err()
}

// scanner looks for what belongs to a history in a file whose pages may be damaged.
type scanner struct {
	file   io.ReaderAt
	size   int64
	blocks []foundBlock
	pools  map[string]bool // whose history it says it is
}

// foundBlock is where a block may be.
type foundBlock struct {
	key  key
	at   int64
	size int
}

// page takes in what a page has. One that cannot be read is passed over.
func (s *scanner) page(at int64) {
	header := make(page, pageHeader)
	if _, err := s.file.ReadAt(header, at); err != nil || header.kind() != kindLeaf || header.count() == 0 {
		return
	}
	span := min((1+int64(header.overflow()))*pageStep, s.size-at, maxPageBytes)
	table := make(page, min(int64(pageHeader+pageElement*header.count()), span))
	if _, err := s.file.ReadAt(table, at); err == nil {
		s.leaf(table, at, int(span), true)
	}
}

// leaf takes in what a leaf page has that begins there.
func (s *scanner) leaf(table page, at int64, span int, nested bool) {
	for _, e := range table.elements(span) {
		value := at + int64(e.at+e.key)
		switch {
		case e.flags&nestedBucket != 0:
			inline := make(page, max(0, min(e.size-bucketHeader, pageStep)))
			if _, err := s.file.ReadAt(inline, value+bucketHeader); nested && err == nil && len(inline) >= pageHeader && inline.kind() == kindLeaf {
				s.leaf(inline, value+bucketHeader, len(inline), false)
			}
		case e.key == len(metaKey) && e.size < pageStep:
			s.meta(value, e.size)
		case e.key == len(key{}) && e.size > 0 && len(s.blocks) < maxFoundBlocks:
			var k key
			if _, err := s.file.ReadAt(k[:], at+int64(e.at)); err == nil {
				s.blocks = append(s.blocks, foundBlock{k, value, e.size})
			}
		}
	}
}

// meta takes in the pool of what may be the record of the store itself.
func (s *scanner) meta(at int64, size int) {
	text := make([]byte, size)
	var m meta
	if _, err := s.file.ReadAt(text, at); err == nil && json.Unmarshal(text, &m) == nil && m.Cursor.Pool != "" {
		s.pools[m.Cursor.Pool] = true
	}
}

// setAside renames a file that cannot be used, over one that was set aside before. A damaged file that was not taken over yet stays:
// what came after it is in the state still.
func (h *History) setAside(suffix string) {
	aside := h.cfg.Path + suffix
	if _, err := os.Stat(aside); suffix == suffixDamaged && err == nil {
		err = os.Remove(h.cfg.Path)
		h.cfg.Log.Error("the file is removed: another one is still being read that was damaged before", "file", aside, "error", err)
		return
	}
	err := os.Rename(h.cfg.Path, aside)
	h.cfg.Log.Error("the file is set aside and a new one is begun", "file", aside, "error", err)
}

// takeOver adds what is readable of a file that was set aside, and renames it. An error says that the store cannot be written.
func (h *History) takeOver(ctx context.Context, store *Store) error {
	path := h.cfg.Path + suffixDamaged
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for ctx.Err() == nil && !h.ready.Load() { // that something may be missing is on disk before the damaged file is done with
		_ = backoff.Sleep(ctx, time.Second)
	}
	if ctx.Err() != nil {
		return nil
	}
	lost := 0
	if err == nil {
		var info os.FileInfo
		if info, err = file.Stat(); err == nil {
			lost, err = store.salvage(ctx, file, info.Size(), h.cfg.State.View().Pool().ID)
		}
		file.Close()
	}
	if ctx.Err() != nil {
		return nil // the next start goes on with it
	}
	if err != nil && !errors.Is(err, errForeign) {
		return fmt.Errorf("take over what is readable of %s: %w", path, err)
	}
	renamed := h.cfg.Path + suffixSalvaged
	kept, metaErr := store.meta()
	if metaErr != nil {
		return metaErr
	}
	h.cfg.Log.Warn("what is readable of a damaged history is taken over, the damaged file may be deleted", "file", renamed, "tasks", kept.Count,
		"unreadableBlocks", lost, "error", errors.Join(err, os.Rename(path, renamed)))
	return nil
}
