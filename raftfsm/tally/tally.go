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

// Tallies is one version of all tallies. Versions share what has not changed. The zero value is empty.
type Tallies struct {
	pool                       spec.Tally
	byKey, byFamily, byCluster btree.Map[string, spec.Tally]
}

// OfPool returns the tally of the whole pool.
func (t *Tallies) OfPool() spec.Tally { return t.pool }

// OfKey returns the tally of the owner of an access key.
func (t *Tallies) OfKey(owner string) spec.Tally { return of(&t.byKey, owner) }

// OfFamily returns the tally of a family of task definitions.
func (t *Tallies) OfFamily(family string) spec.Tally { return of(&t.byFamily, family) }

// OfCluster returns the tally of a cluster.
func (t *Tallies) OfCluster(cluster string) spec.Tally { return of(&t.byCluster, cluster) }

// CheckCluster refuses one cluster more than half of the tasks that the pool may have, while another one has hosts. They are asked for where it matters.
// The error is a *spec.LimitError.
func (t *Tallies) CheckCluster(limits spec.PoolLimits, cluster string, more spec.Tally, hosts func() []*spec.Host) error {
	has, of := t.OfCluster(cluster), "cluster "+cluster+", beside other clusters with hosts,"
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

// All has the tally of each owner that has anything: "pool", "key/KEY", "family/FAMILY" and "cluster/CLUSTER".
func (t *Tallies) All() map[string]spec.Tally {
	all := map[string]spec.Tally{}
	if t.pool != (spec.Tally{}) {
		all["pool"] = t.pool
	}
	t.byKey.Scan(func(owner string, has spec.Tally) bool { all["key/"+owner] = has; return true })
	t.byFamily.Scan(func(family string, has spec.Tally) bool { all["family/"+family] = has; return true })
	t.byCluster.Scan(func(cluster string, has spec.Tally) bool { all["cluster/"+cluster] = has; return true })
	return all
}

// copying is held by those who copy a version: a copy marks its original as shared, and states that were forked copy the same ones.
var copying sync.Mutex

// Replaced is a version in which an object counts for what it is now instead of what it was before; nil is no object. It is t itself when
// nothing changes, and t is changed in place when it is the caller's own already.
func (t *Tallies) Replaced(before, after any, own bool) *Tallies {
	was, had := counted(before)
	is, has := counted(after)
	if was == is && had == has {
		return t // as most changes of a task
	}
	if !own {
		copying.Lock()
		t = &Tallies{t.pool, *t.byKey.Copy(), *t.byFamily.Copy(), *t.byCluster.Copy()}
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
			counts, owners := counted(object)
			all.add(owners, counts, 1)
		}
	}
	return all
}

// owners are those that an object counts for, beside the pool; empty is none.
type owners struct{ key, family, cluster string }

// counted returns what an object counts for, and its owners. Nothing counts for nobody.
func counted(object any) (counts spec.Tally, of owners) {
	switch o := object.(type) {
	case *spec.Task:
		if counts = o.Tally(); counts.Tasks > 0 {
			of.key, of.cluster = o.KeyOwner(), o.Cluster
		}
	case *spec.TaskDefinition:
		counts.Revisions = 1
		of.key, of.family = iam.OwnerOfARN(o.RegisteredBy), o.Family
	}
	return counts, of
}

// add adds counts to the pool and the owners, or takes them away with the sign -1.
func (t *Tallies) add(to owners, counts spec.Tally, sign int) {
	t.pool = t.pool.Plus(counts, sign)
	add(&t.byKey, to.key, counts, sign)
	add(&t.byFamily, to.family, counts, sign)
	add(&t.byCluster, to.cluster, counts, sign)
}

func of(tallies *btree.Map[string, spec.Tally], owner string) spec.Tally {
	known, _ := tallies.Get(owner)
	return known
}

// add changes the tally of an owner, if there is one. An owner of nothing is forgotten.
func add(tallies *btree.Map[string, spec.Tally], owner string, counts spec.Tally, sign int) {
	if owner == "" {
		return
	}
	if sum := of(tallies, owner).Plus(counts, sign); sum == (spec.Tally{}) {
		tallies.Delete(owner)
	} else {
		tallies.Set(owner, sum)
	}
}
