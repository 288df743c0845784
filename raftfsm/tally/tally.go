// Package tally counts what access keys, families of task definitions and the pool have in the state. Tallies are derived from the objects as
// they change: they are in no log entry and no snapshot, and cost a lookup.
//
// Limits hold at apply. What keys, families and the pool have is tallied from the objects as they change (tally.go): derived, in no log entry or
// snapshot, and asked in one lookup. Requests that come together count one after the other. A retry takes its task's place and is not refused.
package tally

import (
	"slices"
	"sync"

	"github.com/tidwall/btree"

	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
)

// Tallies is one version of all tallies, by their holder. Versions share what has not changed. The zero value is empty.
type Tallies struct {
	byHolder btree.Map[string, spec.Tally]
}

// Pool is the holder that has everything; Key, Family and Cluster begin the holders of what the holder of an access key, a family and a cluster have.
const (
	Pool    = "pool"
	Key     = "key/"
	Family  = "family/"
	Cluster = "cluster/"
)

// Of is the tally of a holder.
func (t *Tallies) Of(holder string) spec.Tally {
	known, _ := t.byHolder.Get(holder)
	return known
}

// CheckCluster refuses one cluster more than half of the tasks that the pool may have, while another one has hosts. They are asked for where it matters.
// The error is a *spec.LimitError.
func (t *Tallies) CheckCluster(limits spec.PoolLimits, cluster string, more spec.Tally, hosts func() []*spec.Host) error {
	has, of := t.Of(Cluster+cluster), "cluster "+cluster+", beside other clusters with hosts,"
	err := spec.FirstExceeded(
		spec.LimitError{Of: of, What: "tasks that are not STOPPED", Limit: half(limits.Tasks), Used: has.Tasks, More: more.Tasks, Raise: raise + "--tasks`"},
		spec.LimitError{Of: of, What: "waiting tasks", Limit: half(limits.Waiting), Used: has.Waiting, More: more.Waiting, Raise: raise + "--waiting`"},
	)
	if err != nil && slices.ContainsFunc(hosts(), func(h *spec.Host) bool { return h.Cluster != cluster }) {
		return err
	}
	return nil
}

const raise = "It is half of what the pool may have, which an administrator raises with `pinion limits "

func half(limit int) int { return (limit + 1) / 2 }

// Len is the number of holders that have anything.
func (t *Tallies) Len() int { return t.byHolder.Len() }

// Scan visits the holders that have anything, until visit returns false.
func (t *Tallies) Scan(visit func(holder string, has spec.Tally) bool) { t.byHolder.Scan(visit) }

// copying is held by those who copy a version: a copy marks its original as shared, and states that were forked copy the same ones.
var copying sync.Mutex

// Replaced is a version in which an object counts for what it is now instead of what it was before; nil is no object. It is t itself when
// nothing changes, and t is changed in place when it is the caller's own already.
func (t *Tallies) Replaced(before, after any, own bool) *Tallies {
	was, had := of(before)
	is, has := of(after)
	if was == is && had == has {
		return t // as most changes of a task
	}
	if !own {
		copying.Lock()
		t = &Tallies{byHolder: *t.byHolder.Copy()}
		copying.Unlock()
	}
	t.add(had, was, -1)
	t.add(has, is, 1)
	return t
}

// Count counts the objects of tables.
func Count(objects [][]any) *Tallies {
	all := new(Tallies)
	for _, ofTable := range objects {
		for _, object := range ofTable {
			counts, holders := of(object)
			all.add(holders, counts, 1)
		}
	}
	return all
}

// of returns what an object counts for, and its holders; the holders of nothing are none.
func of(object any) (counts spec.Tally, holders [3]string) {
	switch o := object.(type) {
	case *spec.Task:
		if counts = o.Tally(); counts.Tasks == 0 {
			return counts, holders
		}
		holders[0], holders[2] = Pool, Cluster+o.Cluster
		if id := o.KeyHolder(); id != "" {
			holders[1] = Key + id
		}
	case *spec.TaskDefinition:
		counts.Revisions = 1
		holders = [3]string{Pool, Family + o.Family}
		if id := iam.HolderOfARN(o.RegisteredBy); id != "" {
			holders[2] = Key + id
		}
	}
	return counts, holders
}

// add adds counts to the holders, or takes them away with the sign -1. A holder of nothing is forgotten.
func (t *Tallies) add(holders [3]string, counts spec.Tally, sign int) {
	for _, holder := range holders {
		if holder == "" {
			continue
		}
		if sum := t.Of(holder).Plus(counts, sign); sum == (spec.Tally{}) {
			t.byHolder.Delete(holder)
		} else {
			t.byHolder.Set(holder, sum)
		}
	}
}
