package history

import (
	"time"

	"pinion/raftfsm/sortkey"

	"go.etcd.io/bbolt"
)

// Limits bound what a store keeps: whichever is met first removes the oldest tasks. Zero is no limit.
type Limits struct {
	Age   time.Duration // since a task stopped
	Count int64         // tasks
	Bytes int64         // of the file in use, and about that of the file
}

// pruneBlocks is the number of blocks that one step removes at most.
const pruneBlocks = 16

// Prune removes the oldest tasks beyond the limits, in one step of bounded work; more: another step has work too. What they add up to
// stays in the usage until it is as old as Age.
func (s *Store) Prune(limits Limits, now time.Time) (more bool, err error) {
	var p pruner
	err = s.view(func(tx *bbolt.Tx) error {
		m, err := readMeta(tx)
		if err == nil {
			p = s.newPruner(tx, m, limits, now)
			more = p.due() > 0
		}
		return err
	})
	if err != nil || !more {
		return false, err
	}
	err = s.update(func(tx *bbolt.Tx, m *meta) error {
		p := s.newPruner(tx, m, limits, now)
		for range pruneBlocks {
			if n := p.due(); n == 0 {
				break
			} else if err := p.remove(n); err != nil {
				return err
			}
		}
		more = p.due() > 0
		return p.pruneUsage()
	})
	return more, err
}

type pruner struct {
	store  *Store
	tx     *bbolt.Tx
	meta   *meta
	limits Limits
	oldest key // what stopped before is too old
	now    time.Time
	bytes  int64
}

func (s *Store) newPruner(tx *bbolt.Tx, m *meta, limits Limits, now time.Time) pruner {
	p := pruner{store: s, tx: tx, meta: m, limits: limits, now: now}
	if limits.Age > 0 {
		p.oldest = keyAt(sortkey.Time(now.Add(-limits.Age)))
	}
	stats := s.db.Stats()
	p.bytes = tx.Size() - int64(stats.FreePageN+stats.PendingPageN)*int64(s.db.Info().PageSize)
	return p
}

// due is how many tasks of the oldest block are too many: all of them when they are as old as the next block's, or the file is too
// large.
func (p *pruner) due() int64 {
	c := p.tx.Bucket(bucketBlocks).Cursor()
	first, _ := c.First()
	if first == nil {
		return 0
	}
	next, _ := c.Next()
	tooOld := next != nil && string(next) <= string(p.oldest[:])
	if tooOld || p.limits.Bytes > 0 && p.bytes > p.limits.Bytes && next != nil {
		return maxBlockSize
	}
	if next == nil && string(first) < string(p.oldest[:]) {
		return maxBlockSize // remove leaves what is young
	}
	if p.limits.Count > 0 {
		return max(0, p.meta.Count-p.limits.Count)
	}
	return 0
}

// remove removes at most n tasks of the oldest block; of the only block, when it goes for its age, those that are too old.
func (p *pruner) remove(n int64) error {
	blocks, ids := p.tx.Bucket(bucketBlocks), p.tx.Bucket(bucketIDs)
	c := blocks.Cursor()
	at, block := c.First()
	first := toKey(at)
	size := len(block)
	records, err := p.store.codec.decode(block)
	if err != nil {
		return err
	}
	gone := min(n, int64(len(records)))
	if next, _ := c.Next(); next == nil && string(first[:]) < string(p.oldest[:]) {
		for gone = 0; gone < int64(len(records)) && string(records[gone].key[:]) < string(p.oldest[:]); {
			gone++
		}
	}
	for i := range records[:gone] {
		if err := ids.Delete(records[i].key.id()); err != nil {
			return err
		}
	}
	p.meta.Count -= gone
	p.meta.Pruned = time.Unix(0, records[gone-1].key.moment()+1).UTC()
	p.bytes -= int64(size)
	if err := blocks.Delete(first[:]); err != nil || int(gone) == len(records) {
		return err
	}
	left := records[gone:]
	return blocks.Put(left[0].key[:], p.store.codec.encode(left))
}

// pruneUsage removes the sums of days that are too old, and gaps of such times.
func (p *pruner) pruneUsage() error {
	if p.limits.Age <= 0 {
		return nil
	}
	oldest := p.now.Add(-p.limits.Age)
	p.meta.Gaps = dropOldGaps(p.meta.Gaps, oldest)
	c := p.tx.Bucket(bucketUsage).Cursor()
	end := dayKey(dayOf(oldest))
	for range pruneBlocks * blockSize {
		name, _ := c.First()
		if name == nil || string(name[:4]) >= string(end) {
			break
		}
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return nil
}
