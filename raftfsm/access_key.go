package raftfsm

import (
	"bytes"
	"fmt"
	"iter"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableAccessKeys = register(noun[accesskey.Key]{
		table: "keys", indexes: []*table.Index[accesskey.Key]{accessKeysByID, accessKeysByHost, accessKeysByPerson},
		commands:  []kind{kindOf[CreateAccessKey](35, 1), kindOf[DeleteAccessKey](36, 1)},
		noChanges: "only administrators may list them", noCluster: "a key for a cluster that is gone may do nothing",
		expired: func(v *View, r Reap) iter.Seq[*accesskey.Key] {
			return accessKeysByPerson.Matching(v, func(k *accesskey.Key) bool { return k.Expired(r.Before) })
		},
	})
	accessKeysByID   = table.By(func(k *accesskey.Key) string { return k.ID })
	accessKeysByHost = table.By(func(k *accesskey.Key) string { return k.HostID }).Where(func(k *accesskey.Key) bool { return k.HostID != "" })

	// accessKeysByPerson are those of logins; of each person the one that ends first comes first.
	accessKeysByPerson = table.By(func(k *accesskey.Key) string { return k.Login.Person }).ThenNumber(func(k *accesskey.Key) int64 { return sortkey.Time(k.Login.Expires) }).
				Then(func(k *accesskey.Key) string { return k.ID }).Where(func(k *accesskey.Key) bool { return k.Login != nil })
)

// HostKey is the access key of a host, nil when it has none.
func (v *View) HostKey(hostID string) *accesskey.Key {
	return accessKeysByHost.Get(v, sortkey.Key{First: hostID})
}

// CreateAccessKey stores an access key. Storing the same key again changes nothing; another secret under the same id is
// ErrInUse. A host has one key: another one ends the one before, and ErrRemoved refuses that of a host that was removed.
// Answer: *AccessKey.
type CreateAccessKey struct{ Key accesskey.Key }

func (c CreateAccessKey) apply(tx *tx) (any, error) {
	known := tx.AccessKey(c.Key.ID)
	if known == nil {
		if err := tx.CheckSeal(c.Key.Seal); err != nil {
			return nil, err
		}
		key := c.Key
		if key.HostID != "" {
			if err := tx.prepareHostKey(&key); err != nil {
				return nil, err
			}
		}
		tx.put(tableAccessKeys, &key)
		return &key, nil
	}
	if known.Secret != c.Key.Secret || !bytes.Equal(known.Sealed, c.Key.Sealed) {
		return nil, fmt.Errorf("access key %s: %w: make one with another id", c.Key.ID, spec.ErrInUse)
	}
	return known, nil
}

// DeleteAccessKey revokes an access key at once. ErrNotFound. Answer: nil.
type DeleteAccessKey struct{ ID string }

func (c DeleteAccessKey) apply(tx *tx) (any, error) {
	known := accessKeysByID.Get(tx, sortkey.Key{First: c.ID}) // that of a task is no record
	if known == nil {
		return nil, fmt.Errorf("access key %s: %w", c.ID, spec.ErrNotFound)
	}
	tx.remove(tableAccessKeys, known)
	return nil, nil
}

// prepareHostKey ends the key that a host had and gives the new one the rights that it has now. The first host of a pool has the
// rights that its server gave the key, until the pool has recorded that it is a server.
func (tx *tx) prepareHostKey(key *accesskey.Key) error {
	if tx.Removed(key.HostID) {
		return fmt.Errorf("an access key for %w", spec.Removed(key.HostID))
	}
	if host := tx.Host(key.HostID); host != nil && len(tx.Servers()) > 0 {
		key.Role, key.Cluster = accesskey.HostRights(host.Server, host.Cluster)
	}
	tx.removeHostKey(key.HostID)
	return nil
}

// removeHostKey ends the access key of a host.
func (tx *tx) removeHostKey(hostID string) {
	if key := tx.HostKey(hostID); key != nil {
		tx.remove(tableAccessKeys, key)
	}
}

// updateHostKey gives the access key of a host the rights that follow from its role and cluster.
func (tx *tx) updateHostKey(host *spec.Host) {
	known := tx.HostKey(host.ID)
	if known == nil {
		return
	}
	key := *known
	if key.Role, key.Cluster = accesskey.HostRights(host.Server, host.Cluster); !equal(&key, known) {
		tx.put(tableAccessKeys, &key)
	}
}
