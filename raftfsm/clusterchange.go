package raftfsm

import (
	"fmt"
	"slices"
	"time"
)

// ClusterConfiguration is ECS's configuration of a cluster. The JSON names are ECS's.
type ClusterConfiguration struct {
	ExecuteCommand *ExecuteCommandConfiguration `json:"executeCommandConfiguration,omitempty"`
	ManagedStorage *ManagedStorageConfiguration `json:"managedStorageConfiguration,omitempty"`
}

// ExecuteCommandConfiguration says where the sessions of ExecuteCommand are logged. Logging is NONE, DEFAULT or OVERRIDE.
type ExecuteCommandConfiguration struct {
	KMSKeyID string                   `json:"kmsKeyId,omitempty"`
	Logging  string                   `json:"logging,omitempty"`
	Log      *ExecuteCommandLogTarget `json:"logConfiguration,omitempty"`
}

// ExecuteCommandLogTarget is where they are logged when Logging is OVERRIDE.
type ExecuteCommandLogTarget struct {
	LogGroup    string `json:"cloudWatchLogGroupName,omitempty"`
	EncryptLogs *bool  `json:"cloudWatchEncryptionEnabled,omitempty"`
	S3Bucket    string `json:"s3BucketName,omitempty"`
	EncryptS3   *bool  `json:"s3EncryptionEnabled,omitempty"`
	S3KeyPrefix string `json:"s3KeyPrefix,omitempty"`
}

// ManagedStorageConfiguration names the keys that AWS encrypts storage with.
type ManagedStorageConfiguration struct {
	KMSKeyID        string `json:"kmsKeyId,omitempty"`
	FargateKMSKeyID string `json:"fargateEphemeralStorageKmsKeyId,omitempty"`
}

// Why a cluster cannot be deleted.
var (
	ErrClusterHasTasks = fmt.Errorf("%w: it has tasks that are not STOPPED: stop them first", ErrInUse)
	ErrClusterHasHosts = fmt.Errorf("%w: hosts belong to it: remove them, or start them with another --cluster", ErrInUse)
	ErrDefaultCluster  = fmt.Errorf("the cluster %s cannot be deleted: requests and hosts that name no cluster mean it", DefaultCluster)
)

// UpdateCluster changes what an ACTIVE cluster shows. A setting replaces the one of its name; Configuration and
// Namespace replace what was there, nil keeps it. ErrNotFound, ErrInactive. Answer: *Cluster.
type UpdateCluster struct {
	Name          string
	Settings      []Setting
	Configuration *ClusterConfiguration
	Namespace     *string
}

func (c UpdateCluster) apply(tx *tx) (any, error) {
	if err := tx.active(c.Name); err != nil {
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
	if same(&changed, known) {
		return known, nil
	}
	tx.put(tableClusters, &changed)
	return &changed, nil
}

func mergeSettings(known, given []Setting) []Setting {
	merged := slices.Clone(known)
	for _, setting := range given {
		at := slices.IndexFunc(merged, func(s Setting) bool { return s.Name == setting.Name })
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
		return nil, fmt.Errorf("cluster %q: %w", c.Name, ErrNotFound)
	}
	if known.Status == ClusterInactive {
		return known, nil
	}
	if err := tx.Deletable(c.Name); err != nil {
		return nil, err
	}
	inactive := *known
	inactive.Status, inactive.DeletedAt = ClusterInactive, c.At
	tx.put(tableClusters, &inactive)
	return &inactive, nil
}

// Deletable says why a cluster cannot be deleted as it is: nil, ErrDefaultCluster, ErrClusterHasTasks or
// ErrClusterHasHosts.
func (v *View) Deletable(cluster string) error {
	if cluster == DefaultCluster {
		return ErrDefaultCluster
	}
	if slices.ContainsFunc(v.Tasks(cluster), func(t *Task) bool { return t.LastStatus != Stopped }) {
		return fmt.Errorf("cluster %s: %w", cluster, ErrClusterHasTasks)
	}
	if len(v.Hosts(cluster)) > 0 {
		return fmt.Errorf("cluster %s: %w", cluster, ErrClusterHasHosts)
	}
	return nil
}

// forgettable says whether Reap forgets the cluster: it was deleted before the moment.
func (c *Cluster) forgettable(before time.Time) bool {
	return c.Status == ClusterInactive && c.DeletedAt.Before(before)
}

func (tx *tx) forgetClusters(before time.Time) {
	for cluster := range clustersByName.all(&tx.View) {
		if cluster.forgettable(before) {
			tx.remove(tableClusters, cluster)
		}
	}
}
