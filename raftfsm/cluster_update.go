package raftfsm

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// UpdateCluster changes what an ACTIVE cluster shows. A setting replaces the one of its name; Configuration and
// Namespace replace what was there, nil keeps it. ErrNotFound, ErrInactive. Answer: *Cluster.
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
	changed.Settings = mergeSettings(known.Settings, c.Settings)
	if c.Configuration != nil {
		changed.Configuration = c.Configuration
	}
	if c.Namespace != nil {
		changed.Namespace = *c.Namespace
	}
	if equal(&changed, known) {
		return known, nil
	}
	tx.put(tableClusters, &changed)
	return &changed, nil
}

func mergeSettings(known, given []spec.Setting) []spec.Setting {
	merged := slices.Clone(known)
	for _, setting := range given {
		at := slices.IndexFunc(merged, func(s spec.Setting) bool { return s.Name == setting.Name })
		if at < 0 {
			merged = append(merged, setting)
			continue
		}
		merged[at] = setting
	}
	return merged
}

// DeleteCluster makes a cluster INACTIVE: it can be described until Reap forgets it, and CreateCluster brings it back.
// One that is INACTIVE already stays as it is. ErrNotFound, ErrDefaultCluster, ErrClusterHasTasks, ErrClusterHasHosts.
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
