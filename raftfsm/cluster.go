package raftfsm

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableClusters = register(noun[spec.Cluster]{
		table: "clusters", indexes: []*table.Index[spec.Cluster]{clustersByName}, refersTo: []string{"capacityProviders"},
		commands: []kind{
			kindOf[CreateCluster](14, 1), kindOf[UpdateCluster](15, 1), kindOf[DeleteCluster](16, 1), kindOf[PutClusterCapacityProviders](17, 1),
		},
		changes: func(_, after *spec.Cluster) []*Change {
			if after == nil {
				return nil // it was INACTIVE before
			}
			return []*Change{{Kind: ClusterChange, ClusterName: after.Name, Object: after}}
		},
		emits: []ChangeKind{ClusterChange},
		expired: func(v *View, r Reap) iter.Seq[*spec.Cluster] {
			return clustersByName.Matching(v, func(c *spec.Cluster) bool {
				return c.Status == spec.ClusterInactive && c.DeletedAt.Before(r.Before)
			})
		},
		tags: &tagging[spec.Cluster]{
			kind: spec.ResourceCluster, find: (*View).Cluster, tags: func(c *spec.Cluster) *[]spec.Tag { return &c.Tags },
			readOnly: func(c *spec.Cluster) error {
				return inactiveIf(c.Status == spec.ClusterInactive, spec.ResourceCluster, c.Name)
			},
		},
	})
	clustersByName = table.By(func(c *spec.Cluster) string { return c.Name })
)

// CreatePool records the identity of the Raft cluster and the default ECS cluster; a no-op when the pool exists. Answer:
// the *Pool in force.
type CreatePool struct{ Pool spec.Pool }

func (c CreatePool) apply(tx *tx) (any, error) {
	if pool := tx.Pool(); pool != nil {
		return pool, nil
	}
	tx.put(tablePool, &c.Pool)
	tx.put(tableClusters, &spec.Cluster{Name: spec.DefaultCluster, Status: spec.ClusterActive, CreatedAt: c.Pool.CreatedAt})
	return &c.Pool, nil
}

// CreateCluster is idempotent by name and makes an INACTIVE cluster ACTIVE again. ErrNotFound for its capacity providers.
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

// checkActive returns an error unless tasks and hosts can be added to the cluster: ErrNotFound, ErrInactive.
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

// UpdateCluster changes the settings of an ACTIVE cluster. A setting replaces the one with its name; Configuration and
// Namespace are replaced, nil keeps them. ErrNotFound, ErrInactive. Answer: *Cluster.
type UpdateCluster struct {
	Name          string
	Settings      []spec.Setting
	Configuration *spec.ClusterConfiguration
	Namespace     *string
}

func (c UpdateCluster) apply(tx *tx) (any, error) {
	if err := tx.checkActive(c.Name); err != nil {
		return nil, err
	}
	known := tx.Cluster(c.Name)
	changed := *known
	changed.Settings = spec.MergeSettings(known.Settings, c.Settings)
	if c.Configuration != nil {
		changed.Configuration = c.Configuration
	}
	if c.Namespace != nil {
		changed.Namespace = *c.Namespace
	}
	if command.Equal(&changed, known) {
		return known, nil
	}
	tx.put(tableClusters, &changed)
	return &changed, nil
}

// DeleteCluster makes a cluster INACTIVE: it can be described until Reap deletes it, and CreateCluster makes it ACTIVE
// again. An INACTIVE cluster is not changed. ErrNotFound, ErrDefaultCluster, ErrClusterHasTasks, ErrClusterHasHosts.
// Answer: *Cluster.
type DeleteCluster struct {
	Name string
	At   time.Time
}

func (c DeleteCluster) apply(tx *tx) (any, error) {
	known := tx.Cluster(c.Name)
	if known == nil {
		return nil, fmt.Errorf("cluster %q: %w", c.Name, spec.ErrNotFound)
	}
	if known.Status == spec.ClusterInactive {
		return known, nil
	}
	if err := tx.CheckDeletable(c.Name); err != nil {
		return nil, err
	}
	inactive := *known
	inactive.Status, inactive.DeletedAt = spec.ClusterInactive, c.At
	tx.put(tableClusters, &inactive)
	return &inactive, nil
}

// CheckDeletable says why a cluster cannot be deleted as it is: nil, ErrDefaultCluster, ErrClusterHasTasks or
// ErrClusterHasHosts.
func (v *View) CheckDeletable(cluster string) error {
	if cluster == spec.DefaultCluster {
		return spec.ErrDefaultCluster
	}
	for _, table := range slices.Backward(tables) {
		if err := table.keeps(v, cluster); err != nil {
			return fmt.Errorf("cluster %s: %w", cluster, err)
		}
	}
	return nil
}
