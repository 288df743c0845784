package raftfsm

import (
	"cmp"
	"fmt"

	"pinion/raftfsm/credential"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
)

// KeyTally returns the tally of the owner of an access key.
func (v *View) KeyTally(owner string) spec.Tally { return v.tallies.OfKey(owner) }

// PoolTally returns the tally of the whole pool.
func (v *View) PoolTally() spec.Tally { return v.tallies.OfPool() }

// recount replaces what an object counted for before by what it counts for now; nil is no object.
func (tx *tx) recount(before, after any) {
	if changed := tx.tallies.Replaced(before, after, tx.recounted); changed != tx.tallies {
		tx.tallies, tx.recounted = changed, true
	}
}

// CheckTasks refuses tasks of a cluster beyond the limits of their owner's key, of the pool and of the cluster's part. A key that was removed may run
// nothing. The error is a *spec.LimitError or ErrKeyRemoved.
func (v *View) CheckTasks(cluster, owner string, more spec.Tally) error {
	limits := v.Settings().Limits
	if err := cmp.Or(limits.CheckTasks(v.PoolTally(), more), v.tallies.CheckCluster(limits, cluster, more, func() []*spec.Host { return v.Hosts("") })); err != nil || owner == "" {
		return err
	}
	key := credential.OfOwner(v, owner)
	if key == nil {
		return fmt.Errorf("access key %s: %w", owner, spec.ErrKeyRemoved)
	}
	return key.CheckTasks(v.KeyTally(owner), more)
}

// checkRevision refuses one more revision of a family.
func (v *View) checkRevision(d *spec.TaskDefinition) error {
	if err := v.Settings().Limits.CheckRevision(v.PoolTally(), d.Family, v.tallies.OfFamily(d.Family)); err != nil {
		return err
	}
	if key := credential.OfOwner(v, iam.OwnerOfARN(d.RegisteredBy)); key != nil {
		return key.CheckRevision(v.KeyTally(key.Owner()))
	}
	return nil
}
