package raftfsm

import (
	"fmt"
	"iter"
	"time"

	"pinion/raftfsm/spec"
)

var (
	tableClusters = register(noun[spec.Cluster]{
		table: "clusters", indexes: []*index[spec.Cluster]{clustersByName}, refersTo: []string{"capacityProviders"},
		commands: []kind{
			kindOf[CreateCluster](14, 1), kindOf[UpdateCluster](15, 1), kindOf[DeleteCluster](16, 1), kindOf[PutClusterCapacityProviders](17, 1),
		},
		changes: func(_, after *spec.Cluster) []*Change {
			if after == nil {
				return nil // it was INACTIVE before
			}
			return []*Change{{Kind: ClusterChange, ClusterName: after.Name, Object: after}}
		},
		told: []ChangeKind{ClusterChange},
		expired: func(v *View, r Reap) iter.Seq[*spec.Cluster] {
			return clustersByName.matching(v, func(c *spec.Cluster) bool {
				return c.Status == spec.ClusterInactive && c.DeletedAt.Before(r.Before)
			})
		},
		tags: &tagging[spec.Cluster]{
			kind: spec.ResourceCluster, find: (*View).Cluster, tags: func(c *spec.Cluster) *[]spec.Tag { return &c.Tags },
			closed: func(c *spec.Cluster) error {
				return inactiveIf(c.Status == spec.ClusterInactive, spec.ResourceCluster, c.Name)
			},
		},
	})
	clustersByName = indexBy(func(c *spec.Cluster) string { return c.Name })
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
