package raftfsm

import (
	"cmp"
	"fmt"

	"pinion/raftfsm/credential"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
)

// KeyTally returns the tally of the holder of an access key.
func (v *View) KeyTally(holder string) spec.Tally { return v.tallies.OfKey(holder) }

// PoolTally returns the tally of the whole pool.
func (v *View) PoolTally() spec.Tally { return v.tallies.OfPool() }

// recount replaces what an object counted for before by what it counts for now; nil is no object.
func (tx *tx) recount(before, after any) {
	if changed := tx.tallies.Replaced(before, after, tx.recounted); changed != tx.tallies {
		tx.tallies, tx.recounted = changed, true
	}
}

// CheckTasks refuses tasks of a cluster beyond the limits of their holder's key, of the pool and of the cluster's part. A key that was removed may run
// nothing. The error is a *spec.LimitError or ErrKeyRemoved.
func (v *View) CheckTasks(cluster, holder string, more spec.Tally) error {
	limits := v.Settings().Limits
	if err := cmp.Or(limits.CheckTasks(v.PoolTally(), more), v.tallies.CheckCluster(limits, cluster, more, func() []*spec.Host { return v.Hosts("") })); err != nil || holder == "" {
		return err
	}
	key := credential.OfHolder(v, holder)
	if key == nil {
		return fmt.Errorf("access key %s: %w", holder, spec.ErrKeyRemoved)
	}
	return key.CheckTasks(v.KeyTally(holder), more)
}

// checkRevision refuses one more revision of a family.
func (v *View) checkRevision(d *spec.TaskDefinition) error {
	if err := v.Settings().Limits.CheckRevision(v.PoolTally(), d.Family, v.tallies.OfFamily(d.Family)); err != nil {
		return err
	}
	if key := credential.OfHolder(v, iam.HolderOfARN(d.RegisteredBy)); key != nil {
		return key.CheckRevision(v.KeyTally(key.Holder()))
	}
	return nil
}
