package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"pinion/raftfsm"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/sortkey"
)

// The buckets of the database.
var (
	bucketMeta   = []byte("meta")   // a Cursor with what belongs to it, in JSON
	bucketBlocks = []byte("blocks") // the tasks, by the key of the first task of each block
	bucketIDs    = []byte("ids")    // the moment of each task's key, by its id
	bucketUsage  = []byte("usage")  // sums by day, see usage.go
)

// The keys of the meta bucket.
var (
	metaKey = []byte("meta")
	sumKey  = []byte("sum") // the checksum of the value of the other
)

// mapSize is the address space that the database gets at first: while it is smaller than that, readers never hold up the writer.
const mapSize = 4 << 30

// Cursor is how far a store has followed the log of its pool.
type Cursor struct {
	Pool        string           `json:"pool"`
	Incarnation int              `json:"incarnation"`
	Position    raftfsm.Position `json:"position"` // every task that ended up to here is kept, but for those of Gaps
	At          time.Time        `json:"at,omitzero"`
}

// meta is the record of the meta bucket. It changes in the transaction of what it is about.
type meta struct {
	Cursor Cursor      `json:"cursor"`
	Gaps   []ended.Gap `json:"gaps,omitempty"`
	Count  int64       `json:"count"`           // tasks
	Pruned time.Time   `json:"pruned,omitzero"` // tasks that stopped before it were removed, for the sake of Limits
}

// Store is a database of ended tasks, a file of its own. Any number of readers and one writer at a time use it. Errors that wrap
// ErrDamaged say that the file is not as it was written: the owner gives it up then.
type Store struct {
	db    *bbolt.DB
	codec *blockCodec
}

// OpenStore opens the file, and makes it when there is none.
func OpenStore(path string) (*Store, error) {
	codec, err := theCodec()
	if err != nil {
		return nil, err
	}
	if err := verify(path); err != nil {
		return nil, fmt.Errorf("open the history %s: %w", path, err)
	}
	s := &Store{codec: codec}
	err = protect(func() (err error) {
		s.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, InitialMmapSize: mapSize})
		if err != nil {
			return fmt.Errorf("open the history %s: %w", path, asDamage(err))
		}
		return s.db.Update(func(tx *bbolt.Tx) error {
			for _, name := range [][]byte{bucketMeta, bucketBlocks, bucketIDs, bucketUsage} {
				if _, err := tx.CreateBucketIfNotExists(name); err != nil {
					return err
				}
			}
			_, err := readMeta(tx)
			return err
		})
	})
	if err != nil && s.db != nil && !errors.Is(err, ErrDamaged) {
		err = errors.Join(err, s.db.Close())
	}
	return s, err
}

// asDamage marks those errors of bbolt that say that the file is none of its own.
func asDamage(err error) error {
	for _, damage := range []error{bolterrors.ErrInvalid, bolterrors.ErrVersionMismatch, bolterrors.ErrChecksum} {
		if errors.Is(err, damage) {
			return fmt.Errorf("%w: %w", err, ErrDamaged)
		}
	}
	return err
}

// protect turns what a damaged file makes of bbolt, a panic or a fault of the mapped memory, into an error.
func protect(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, r)
		}
	}()
	return do()
}

func (s *Store) view(do func(*bbolt.Tx) error) error {
	return protect(func() error { return s.db.View(do) })
}

// update runs a transaction, which is on the disk when it returns without an error.
func (s *Store) update(do func(*bbolt.Tx, *meta) error) error {
	return protect(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			m, err := readMeta(tx)
			if err != nil {
				return err
			}
			if err := do(tx, m); err != nil {
				return err
			}
			text, err := json.Marshal(m)
			if err != nil {
				return err
			}
			b := tx.Bucket(bucketMeta)
			return errors.Join(b.Put(metaKey, text), b.Put(sumKey, checksum(text)))
		})
	})
}

func readMeta(tx *bbolt.Tx) (*meta, error) {
	m, b := new(meta), tx.Bucket(bucketMeta)
	if text := b.Get(metaKey); text != nil {
		if sum := b.Get(sumKey); sum != nil && !bytes.Equal(sum, checksum(text)) { // earlier versions wrote none
			return nil, fmt.Errorf("its own record has a wrong checksum: %w", ErrDamaged)
		}
		if err := json.Unmarshal(text, m); err != nil {
			return nil, fmt.Errorf("its own record: %w: %w", err, ErrDamaged)
		}
	}
	return m, nil
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// meta reads what the store knows of itself.
func (s *Store) meta() (m *meta, err error) {
	err = s.view(func(tx *bbolt.Tx) (err error) { m, err = readMeta(tx); return err })
	return m, err
}

// Add keeps tasks; one that is known already, by its id, stays as it is. change, which may be nil, is for what the owner knows of the
// store, in the same transaction.
func (s *Store) Add(tasks []ended.Task, change func(*meta)) error {
	records, err := sorted(tasks)
	if err != nil {
		return err
	}
	return s.update(func(tx *bbolt.Tx, m *meta) error {
		a := adder{store: s, meta: m, blocks: tx.Bucket(bucketBlocks), ids: tx.Bucket(bucketIDs), usage: usageSums{}}
		if err := a.add(records); err != nil {
			return err
		}
		if change != nil {
			change(m)
		}
		return a.usage.addTo(tx.Bucket(bucketUsage))
	})
}

// adder adds tasks in one transaction.
type adder struct {
	store       *Store
	meta        *meta
	blocks, ids *bbolt.Bucket
	usage       usageSums
}

// add adds records, which are in order.
func (a *adder) add(records []record) error {
	records, err := a.unknown(records)
	if err != nil {
		return err
	}
	for len(records) > 0 {
		first, next := a.blockOf(records[0].key)
		n := len(records)
		if next != nil {
			n, _ = slices.BinarySearchFunc(records, toKey(next), func(r record, k key) int { return r.compare(record{key: k}) })
		}
		if err := a.addToBlock(first, next == nil, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// unknown enters the ids of records and leaves out those that are kept under another moment, and those that were removed for their age.
func (a *adder) unknown(records []record) (left []record, err error) {
	for _, r := range records {
		known := a.ids.Get(r.key.id())
		if known != nil && toKey(known).moment() != r.key.moment() || r.key.moment() < a.meta.prunedTo() {
			continue // the first end of a task is its end
		}
		if known == nil {
			if err := a.ids.Put(r.key.id(), r.key[:8]); err != nil {
				return nil, err
			}
			a.meta.Count++
			a.usage.count(&r.task)
		}
		left = append(left, r) // also one that is known: its block may have been lost
	}
	return left, nil
}

// prunedTo is the moment of Pruned, smaller than any other when nothing was removed.
func (m *meta) prunedTo() int64 { return sortkey.Time(m.Pruned) }

// blockOf is the key of the block that a key belongs to, nil when there is no block, and the key of the next block, nil when there is
// none.
func (a *adder) blockOf(k key) (first, next []byte) {
	c := a.blocks.Cursor()
	at, _ := c.Seek(k[:])
	if at != nil && toKey(at) == k {
		next, _ = c.Next()
		return k[:], next
	}
	next = at
	if at == nil {
		first, _ = c.Last()
	} else {
		first, _ = c.Prev()
	}
	if first == nil && next != nil { // before all others: into the first block
		first = next
		c.Seek(next)
		next, _ = c.Next()
	}
	return slices.Clone(first), slices.Clone(next)
}

// addToBlock merges records into the block of that key, or makes one. A block that grows too large is split: the last one into full
// blocks, because what comes next stands behind it, and others evenly.
func (a *adder) addToBlock(at []byte, last bool, records []record) error {
	if at != nil {
		known, err := a.store.codec.decode(a.blocks.Get(at))
		if err != nil {
			return err
		}
		all := append(slices.Clone(known), records...) // of two with one key the known one stays
		slices.SortStableFunc(all, record.compare)
		all = slices.CompactFunc(all, func(a, b record) bool { return a.key == b.key })
		if len(all) == len(known) {
			return nil
		}
		if records = all; all[0].key != toKey(at) {
			if err := a.blocks.Delete(at); err != nil {
				return err
			}
		}
	}
	size := len(records)
	if size > maxBlockSize {
		size = blockSize
		if n := (len(records) + blockSize - 1) / blockSize; !last {
			size = (len(records) + n - 1) / n
		}
	}
	for block := range slices.Chunk(records, size) {
		if err := a.blocks.Put(block[0].key[:], a.store.codec.encode(block)); err != nil {
			return err
		}
	}
	return nil
}
