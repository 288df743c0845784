package history

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"pinion/raftfsm/compact"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/sortkey"
)

// Bounds of the work for one page.
const (
	maxBlocksRead    = 64
	maxBlocksSkipped = 4096
)

// Find lists tasks, the one that stopped last first.
func (s *Store) Find(q ended.Query) (page ended.Page, err error) {
	search, err := newSearch(s, q)
	if err != nil {
		return page, err
	}
	err = s.view(func(tx *bbolt.Tx) error {
		m, err := readMeta(tx)
		if err != nil {
			return err
		}
		search.page.Gaps = m.Gaps
		return search.run(tx.Bucket(bucketBlocks).Cursor())
	})
	return search.page, err
}

// search looks for the tasks of one page.
type search struct {
	store         *Store
	query         ended.Query
	wanted        []uint16 // facets
	since, before key
	read, skipped int // blocks
	bytes         int // of the tasks of the page
	page          ended.Page
}

func newSearch(s *Store, q ended.Query) (*search, error) {
	if q.Limit <= 0 {
		q.Limit = ended.DefaultPage
	}
	q.Limit = min(q.Limit, ended.MaxPage)
	f := &search{store: s, query: q, since: keyAt(sortkey.Time(q.Since))}
	for i := range f.before {
		f.before[i] = 0xff
	}
	if !q.Until.IsZero() {
		f.before = keyAt(sortkey.Time(q.Until))
	}
	if q.Page != "" {
		text, err := hex.DecodeString(q.Page)
		if err != nil || len(text) != len(key{}) {
			return nil, ended.ErrPage
		}
		if at := toKey(text); (record{key: at}).compare(record{key: f.before}) < 0 {
			f.before = at
		}
	}
	for facet, value := range map[facet]string{facetOutcome: string(q.Outcome), facetTeam: q.Team, facetKey: q.Key, facetFamily: q.Family,
		facetGroup: q.Group, facetCluster: q.Cluster} {
		if value != "" {
			f.wanted = append(f.wanted, facet.hash(value))
		}
	}
	return f, nil
}

// run goes through the blocks backwards.
func (f *search) run(c *bbolt.Cursor) error {
	step := c.Prev
	if at, _ := c.Seek(f.before[:]); at == nil {
		step = c.Last
	}
	for at, block := step(); at != nil; at, block = c.Prev() {
		if f.read >= maxBlocksRead || f.skipped >= maxBlocksSkipped {
			f.page.Next = hex.EncodeToString(f.before[:])
			return nil
		}
		full, err := f.searchBlock(block)
		if err != nil || full {
			return err
		}
		first := toKey(at)
		if (record{key: first}).compare(record{key: f.since}) < 0 {
			return nil // what comes is older
		}
		f.before = first
	}
	return nil
}

// searchBlock adds the tasks of a block to the page; full: there is no room for the next one.
func (f *search) searchBlock(block []byte) (full bool, err error) {
	facets, packed, err := f.store.codec.open(block)
	if err != nil {
		return false, err
	}
	if !mayHave(facets, f.wanted) {
		f.skipped++
		return false, nil
	}
	f.read++
	records, err := f.store.codec.unpack(packed)
	if err != nil {
		return false, err
	}
	for i := len(records) - 1; i >= 0; i-- {
		r := &records[i]
		if r.compare(record{key: f.before}) >= 0 {
			continue
		}
		if r.compare(record{key: f.since}) < 0 {
			return false, nil
		}
		if !matches(f.query, &r.task) {
			continue
		}
		f.bytes += len(new(compact.Writer).Append(nil, &r.task))
		if n := len(f.page.Tasks); n == f.query.Limit || n > 0 && f.bytes > ended.MaxPageBytes {
			f.page.Next = hex.EncodeToString(f.before[:])
			return true, nil
		}
		f.page.Tasks = append(f.page.Tasks, r.task)
		f.before = r.key
	}
	return false, nil
}

// matches reports whether the fields of a task are those that are asked for.
func matches(q ended.Query, t *ended.Task) bool {
	return (q.Outcome == "" || q.Outcome == t.Outcome) && (q.Team == "" || q.Team == t.Team()) && (q.Key == "" || q.Key == t.Task.KeyOwner()) &&
		(q.Family == "" || q.Family == t.Family()) && (q.Group == "" || q.Group == t.Task.Group) &&
		(q.Cluster == "" || q.Cluster == t.Task.Cluster) && (q.Allowed == nil || q.Allowed(t.Task.Cluster, t.Team()))
}

// Task is the task with this id, nil when the store has none.
func (s *Store) Task(id string) (found *ended.Task, err error) {
	text, err := hex.DecodeString(id)
	if err != nil {
		return nil, nil // no task has such an id
	}
	err = s.view(func(tx *bbolt.Tx) error {
		known := tx.Bucket(bucketIDs).Get(text)
		if known == nil {
			return nil
		}
		k := toKey(known)
		copy(k.id(), text)
		found, err = s.taskAt(tx, k)
		return err
	})
	return found, err
}

func (s *Store) taskAt(tx *bbolt.Tx, k key) (*ended.Task, error) {
	c := tx.Bucket(bucketBlocks).Cursor()
	at, block := c.Seek(k[:])
	if at == nil || toKey(at) != k {
		_, block = c.Prev()
	}
	records, err := s.codec.decode(block)
	for i := range records {
		if records[i].key == k {
			return &records[i].task, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("the block of task %x does not have it: %w", k.id(), ErrDamaged)
	}
	return nil, err
}

// IDs lists the ids that begin with these hex digits, at most limit of them.
func (s *Store) IDs(prefix string, limit int) (ids []string, err error) {
	prefix = strings.ToLower(prefix)
	start, err := hex.DecodeString(prefix[:len(prefix)/2*2])
	if err != nil {
		return nil, fmt.Errorf("%q is not the beginning of a task's id: it has hex digits alone", prefix)
	}
	err = s.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketIDs).Cursor()
		for id, _ := c.Seek(start); id != nil && len(ids) < limit; id, _ = c.Next() {
			text := hex.EncodeToString(id)
			if strings.HasPrefix(text, prefix) {
				ids = append(ids, text)
			} else if text > prefix {
				return nil
			}
		}
		return nil
	})
	return ids, err
}

// Span is when the tasks stopped that the store has: the first of them and the last, zero without any.
func (s *Store) Span() (first, last time.Time, err error) {
	err = s.view(func(tx *bbolt.Tx) error {
		c := tx.Bucket(bucketBlocks).Cursor()
		at, _ := c.First()
		if at == nil {
			return nil
		}
		first = time.Unix(0, toKey(at).moment())
		_, block := c.Last()
		records, err := s.codec.decode(block)
		if err == nil {
			last = time.Unix(0, records[len(records)-1].key.moment())
		}
		return err
	})
	return first, last, err
}
