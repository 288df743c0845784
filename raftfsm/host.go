package raftfsm

import (
	"cmp"
	"fmt"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/change"
	"pinion/raftfsm/command"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/tasknetwork"
)

var (
	tableHosts = register(noun[spec.Host]{
		table: "hosts", indexes: []*table.Index[spec.Host]{hostsByID, hostsByCluster, serversByID}, refersTo: []string{"clusters", "admissions"},
		commands: []kind{
			compactKindOf[PutHost](7, 1), kindOf[SetHostStatus](8, 1), kindOf[SetServerRole](9, 1), kindOf[MarkHostLost](10, 1), kindOf[RemoveHost](11, 1),
			kindOf[PutAttributes](12, 1), kindOf[DeleteAttributes](13, 1), kindOf[RecordConnections](67, 1), kindOf[SetGPUQuarantine](134, 1),
			kindOf[SetGPUPartition](135, 1),
		},
		changes: change.OfHost, emits: []ChangeKind{HostChange, GPUChange},
		noExpiry: "RemoveHost deletes it",
		keepsCluster: func(v *View, cluster string) error {
			if len(v.Hosts(cluster)) > 0 {
				return spec.ErrClusterHasHosts
			}
			return nil
		},
		tags: &tagging[spec.Host]{
			kind: spec.ResourceHost, find: (*View).Host, tags: func(h *spec.Host) *[]spec.Tag { return &h.Tags },
			change: func(h *spec.Host) { h.Revision++ },
		},
	})
	hostsByID      = table.By(hostID)
	hostsByCluster = table.By(func(h *spec.Host) string { return h.Cluster }).Then(hostID).HashPrefix()
	serversByID    = table.By(hostID).Where(func(h *spec.Host) bool { return h.Server }) // desired servers
)

func hostID(h *spec.Host) string { return h.ID }

// PutHost records a host from its own description. The subnet of its TaskNetwork is assigned here. Status, Server, RegisteredAt, Custom, Tags, Quarantine
// and Partitions of a known host are kept, and HealthAt unless the health of its GPUs has changed; Attributes and GPUs are replaced; a lost host becomes
// connected again. Its cluster is that of HostCluster. Revision grows only when something changed. A GPU that is missing while a task holds it stays with
// that task and is not assigned to another. ErrRemoved for a host that was removed from the pool, ErrNotFound and ErrInactive for its cluster, ErrInUse
// when it would leave its cluster with tasks that are not STOPPED. Answer: *Host.
type PutHost struct{ Host spec.Host }

func (c PutHost) apply(tx *tx) (any, error) {
	host := c.Host
	if host.ID == "" {
		return nil, fmt.Errorf("host %q has no id", host.Name)
	}
	if tx.Removed(host.ID) {
		return nil, spec.Removed(host.ID)
	}
	host.LostAt, host.CustomAttributes, host.Tags, host.Drain, host.Connection, host.Quarantine, host.Partitions = time.Time{}, nil, nil, nil, nil, nil, nil
	cluster, err := tx.HostCluster(&host)
	if err != nil {
		return nil, err
	}
	host.Cluster = cluster
	known := tx.Host(host.ID)
	host.TaskNetwork = tx.taskNetwork(&host, known)
	if known == nil || known.Cluster != host.Cluster {
		if err := tx.checkHostMove(host.Cluster, host.ID); err != nil {
			return nil, fmt.Errorf("host %s (%s): %w", host.ID, host.Name, err)
		}
		tx.moveHost(&host, known)
	}
	if known == nil {
		host.Status, host.Server, host.Revision = spec.HostActive, false, 1
		tx.put(tableHosts, &host)
		return &host, nil
	}
	host.Status, host.Server, host.CustomAttributes, host.Tags = known.Status, known.Server, known.CustomAttributes, known.Tags
	host.RegisteredAt, host.Revision, host.Drain, host.Connection = known.RegisteredAt, known.Revision, known.Drain, known.Connection
	host.GPUs, host.Quarantine = known.Quarantine.Mark(tx.keepMissingGPUs(host.GPUs, known.GPUs, host.ID))
	host.Partitions = known.Partitions.Prune(host.GPUs)
	if spec.EqualHealth(host.GPUs, known.GPUs) {
		host.HealthAt = known.HealthAt
	}
	if command.Equal(&host, known) {
		return known, nil
	}
	return tx.updateHost(&host), nil
}

// taskNetwork is the network of the host's tasks with its subnet, which it keeps while it is in the same network.
func (tx *tx) taskNetwork(host, known *spec.Host) *tasknetwork.Network {
	if host.TaskNetwork == nil {
		return nil
	}
	if known != nil && known.TaskNetwork.Same(host.TaskNetwork) && known.TaskNetwork.Subnet != "" {
		return known.TaskNetwork
	}
	taken := map[string]bool{}
	for h := range hostsByID.All(tx) {
		if h.TaskNetwork != nil && h.ID != host.ID {
			taken[h.TaskNetwork.Subnet] = true
		}
	}
	return host.TaskNetwork.Assign(taken)
}

// updateHost records a changed copy of a host under its next revision.
func (tx *tx) updateHost(host *spec.Host) *spec.Host {
	host.Revision++
	tx.put(tableHosts, host)
	return host
}

// checkHostMove returns an error when the host cannot join the cluster.
func (v *View) checkHostMove(cluster, hostID string) error {
	if err := v.checkActive(cluster); err != nil {
		return err
	}
	if left := len(v.liveTasksOn(hostID)); left > 0 {
		return fmt.Errorf("%w: it cannot move to cluster %s while it has %d tasks: stop them first", spec.ErrInUse, cluster, left)
	}
	return nil
}

// HostCluster is the cluster whose tasks a host runs, given the host as it describes itself. It is that of the host's join token; the
// first host of a pool, and a server, which holds the state of all clusters, name it themselves. ErrInUse for another one.
func (v *View) HostCluster(host *spec.Host) (string, error) {
	admission, known := v.Admission(host.ID), v.Host(host.ID)
	named := host.Cluster
	if named == "" && known != nil {
		named = known.Cluster
	}
	if admission == nil || known != nil && known.Server {
		return cmp.Or(named, spec.DefaultCluster), nil
	}
	if cluster := admission.ClusterName(); host.Cluster == "" || host.Cluster == cluster {
		return cluster, nil
	}
	return "", fmt.Errorf("host %s (%s): %w: its join token was for the cluster %s, not for %s: start it with --cluster %s, or have it leave the pool and "+
		"join again with a token of `pinion token --cluster %s`", host.ID, host.Name, spec.ErrInUse, admission.ClusterName(), host.Cluster, admission.ClusterName(), host.Cluster)
}

// moveHost takes what belongs to a host into the cluster that it comes to.
func (tx *tx) moveHost(host, known *spec.Host) {
	if known == nil {
		return
	}
	moved := *host
	moved.Server = known.Server
	credential.UpdateOfHost(tx, &moved)
	if admission := tx.Admission(host.ID); admission != nil {
		changed := *admission
		changed.Cluster = host.Cluster
		tx.put(tableAdmissions, &changed)
	}
}

// SetHostStatus drains a host (HostDraining: no new tasks are placed there, running tasks continue) or reactivates it
// (HostActive). With Drain, running tasks are stopped; without it a draining host keeps the Drain that it has. An unchanged host is a
// no-op. ErrNotFound. Answer: *Host.
type SetHostStatus struct {
	ID     string
	Status spec.HostStatus
	Drain  *spec.HostDrain `level:"1"`
}

func (c SetHostStatus) apply(tx *tx) (any, error) {
	if c.Status != spec.HostActive && c.Status != spec.HostDraining {
		return nil, fmt.Errorf("host %s: the status can be set to %s or %s, not %q", c.ID, spec.HostActive, spec.HostDraining, c.Status)
	}
	known := tx.Host(c.ID)
	if known == nil {
		return nil, fmt.Errorf("host %q: %w", c.ID, spec.ErrNotFound)
	}
	host := *known
	host.Status, host.Drain = c.Status, cmp.Or(c.Drain, known.Drain)
	if c.Status == spec.HostActive {
		host.Drain = nil
	}
	if command.Equal(&host, known) {
		return known, nil
	}
	return tx.updateHost(&host), nil
}

// SetServerRole sets whether the host should be a server. This is desired state; a reconciler changes Raft's configuration
// to match. An unchanged role is a no-op. ErrNotFound. Answer: *Host.
type SetServerRole struct {
	ID     string
	Server bool
}

func (c SetServerRole) apply(tx *tx) (any, error) {
	known := tx.Host(c.ID)
	if known == nil {
		return nil, fmt.Errorf("host %q: %w", c.ID, spec.ErrNotFound)
	}
	if known.Server == c.Server {
		return known, nil
	}
	host := *known
	host.Server = c.Server
	credential.UpdateOfHost(tx, &host)
	return tx.updateHost(&host), nil
}

// keepMissingGPUs is spec.WithMissingGPUs for the tasks of a host.
func (tx *tx) keepMissingGPUs(now, before gpu.Inventory, hostID string) gpu.Inventory {
	owners := map[string]string{}
	for _, t := range tx.liveTasksOn(hostID) {
		for _, uuid := range t.GPUs() {
			owners[uuid] = t.ID
		}
	}
	return spec.WithMissingGPUs(now, before, owners)
}
