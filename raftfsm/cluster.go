package raftfsm

import (
	"fmt"
	"time"

	"pinion/raftfsm/spec"
)

// CreatePool writes the identity of the Raft cluster and the default ECS cluster; a no-op when there is one already.
// Answer: *Pool, the one in force.
type CreatePool struct{ Pool spec.Pool }

func (c CreatePool) apply(tx *tx) (any, error) {
	if pool := tx.Pool(); pool != nil {
		return pool, nil
	}
	tx.put(tablePool, &c.Pool)
	tx.put(tableClusters, &spec.Cluster{Name: spec.DefaultCluster, Status: spec.ClusterActive, CreatedAt: c.Pool.CreatedAt})
	return &c.Pool, nil
}

// CreateCluster is idempotent by name and brings an INACTIVE cluster back. ErrNotFound of its capacity providers.
// Answer: *Cluster.
type CreateCluster struct{ Cluster spec.Cluster }

func (c CreateCluster) apply(tx *tx) (any, error) {
	known := tx.Cluster(c.Cluster.Name)
	if known != nil && known.Status == spec.ClusterActive {
		return known, nil
	}
	if err := tx.checkCapacityProviders(c.Cluster.CapacityProviders, c.Cluster.DefaultStrategy); err != nil {
		return nil, err
	}
	c.Cluster.Status, c.Cluster.DeletedAt = spec.ClusterActive, time.Time{}
	tx.put(tableClusters, &c.Cluster)
	return &c.Cluster, nil
}

// checkActive finds a cluster that tasks and hosts may be added to: ErrNotFound, ErrInactive.
func (v *View) checkActive(cluster string) error {
	known := v.Cluster(cluster)
	if known == nil {
		return fmt.Errorf("cluster %q: %w: create it first", cluster, spec.ErrNotFound)
	}
	if known.Status != spec.ClusterActive {
		return fmt.Errorf("cluster %q: %w: create it again first", cluster, spec.ErrInactive)
	}
	return nil
}
