package raftfsm

import (
	"fmt"
	"time"
)

// DefaultCluster always exists; requests that name no cluster mean it.
const DefaultCluster = "default"

// Account is the 12-digit account id in every ARN. There is one account in a Pinion cluster.
const Account = "123456789012"

// ClusterStatus is ECS's cluster status.
type ClusterStatus string

// Statuses of a cluster; an inactive one is kept for a while and can be described.
const (
	ClusterActive   ClusterStatus = "ACTIVE"
	ClusterInactive ClusterStatus = "INACTIVE"
)

// Cluster is a named pool of hosts and the tasks on it. Its counters are derived from hosts and tasks, never stored.
type Cluster struct {
	Name      string        `json:"name"`
	Status    ClusterStatus `json:"status"`
	Tags      []Tag         `json:"tags,omitempty"`
	Settings  []Setting     `json:"settings,omitempty"` // accepted and shown, without effect
	CreatedAt time.Time     `json:"createdAt"`

	Configuration *ClusterConfiguration `json:"configuration,omitempty"`    // accepted and shown, without effect
	Namespace     string                `json:"serviceNamespace,omitempty"` // of service connect: the same
	DeletedAt     time.Time             `json:"deletedAt,omitzero"`         // when it became INACTIVE

	CapacityProviders []string                       `json:"capacityProviders,omitempty"` // queues, beside the built-in one
	DefaultStrategy   []CapacityProviderStrategyItem `json:"defaultStrategy,omitempty"`   // of runs that do not say how
}

// Tag is a label of ECS resources: key 1 to 128 characters, value at most 256.
type Tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Setting is a cluster setting such as containerInsights.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Pool is the identity of the Raft cluster itself: one record, written by the first start of the first host. A data
// directory of one pool is never opened by another.
type Pool struct {
	ID        string    `json:"id"` // 32 hex digits
	CreatedAt time.Time `json:"createdAt"`
	Settings  Settings  `json:"settings,omitzero"` // as given; View.Settings fills the defaults in
}

// CreatePool writes the identity of the Raft cluster and the default ECS cluster; a no-op when there is one already.
// Answer: *Pool, the one in force.
type CreatePool struct{ Pool Pool }

func (c CreatePool) apply(tx *tx) (any, error) {
	if pool := tx.Pool(); pool != nil {
		return pool, nil
	}
	tx.put(tablePool, &c.Pool)
	tx.put(tableClusters, &Cluster{Name: DefaultCluster, Status: ClusterActive, CreatedAt: c.Pool.CreatedAt})
	return &c.Pool, nil
}

// CreateCluster is idempotent by name and brings an INACTIVE cluster back. ErrNotFound of its capacity providers.
// Answer: *Cluster.
type CreateCluster struct{ Cluster Cluster }

func (c CreateCluster) apply(tx *tx) (any, error) {
	known := tx.Cluster(c.Cluster.Name)
	if known != nil && known.Status == ClusterActive {
		return known, nil
	}
	if err := tx.offers(c.Cluster.CapacityProviders, c.Cluster.DefaultStrategy); err != nil {
		return nil, err
	}
	c.Cluster.Status, c.Cluster.DeletedAt = ClusterActive, time.Time{}
	tx.put(tableClusters, &c.Cluster)
	return &c.Cluster, nil
}

// level is 3 with what came later than clusters.
func (c CreateCluster) level() int {
	if c.Cluster.Configuration != nil || c.Cluster.Namespace != "" || c.Cluster.CapacityProviders != nil || c.Cluster.DefaultStrategy != nil {
		return 3
	}
	return 1
}

// active finds a cluster that tasks and hosts may be added to: ErrNotFound, ErrInactive.
func (v *View) active(cluster string) error {
	known := v.Cluster(cluster)
	if known == nil {
		return fmt.Errorf("cluster %q: %w: create it first", cluster, ErrNotFound)
	}
	if known.Status != ClusterActive {
		return fmt.Errorf("cluster %q: %w: create it again first", cluster, ErrInactive)
	}
	return nil
}
