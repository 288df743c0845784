package credential

import (
	"bytes"
	"fmt"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
)

// Create stores an access key. Storing the same key again changes nothing; another secret under the same id is
// spec.ErrInUse. A host has one key: another one ends the one before, and spec.ErrRemoved refuses that of a host that was removed.
// Answer: *accesskey.Key.
type Create struct{ Key accesskey.Key }

// Apply carries the command out.
func (c Create) Apply(tx command.Transaction) (any, error) {
	known := Find(tx, c.Key.ID)
	if known == nil {
		if err := tx.CheckSeal(c.Key.Seal); err != nil {
			return nil, err
		}
		key := c.Key
		if key.HostID != "" {
			if err := prepareHostKey(tx, &key); err != nil {
				return nil, err
			}
		}
		tx.Put(&key)
		return &key, nil
	}
	if known.Secret != c.Key.Secret || !bytes.Equal(known.Sealed, c.Key.Sealed) {
		return nil, fmt.Errorf("access key %s: %w: make one with another id", c.Key.ID, spec.ErrInUse)
	}
	return known, nil
}

// Delete revokes an access key at once. spec.ErrNotFound. Answer: nil.
type Delete struct{ ID string }

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	known := byID.Get(tx, sortkey.Key{First: c.ID}) // that of a task is no record
	if known == nil {
		return nil, fmt.Errorf("access key %s: %w", c.ID, spec.ErrNotFound)
	}
	tx.Remove(known)
	return nil, nil
}

// Reseal puts the same secrets under another sealing key. A key that was removed, or sealed anew by another leader, is left
// alone. Answer: nil.
type Reseal struct{ Keys []accesskey.Resealed }

// Apply carries the command out.
func (c Reseal) Apply(tx command.Transaction) (any, error) {
	for _, again := range c.Keys {
		if key := again.ApplyTo(Find(tx, again.ID)); key != nil {
			tx.Put(key)
		}
	}
	return nil, nil
}

// prepareHostKey ends the key that a host had and gives the new one the rights that it has now. The first host of a pool has the
// rights that its server gave the key, until the pool has recorded that it is a server.
func prepareHostKey(tx command.Transaction, key *accesskey.Key) error {
	if tx.Removed(key.HostID) {
		return fmt.Errorf("an access key for %w", spec.Removed(key.HostID))
	}
	if host := tx.Host(key.HostID); host != nil && len(tx.Servers()) > 0 {
		key.Role, key.Cluster = accesskey.HostRights(host.Server, host.Cluster)
	}
	RemoveOfHost(tx, key.HostID)
	return nil
}

// RemoveOfHost ends the access key of a host.
func RemoveOfHost(tx command.Transaction, hostID string) {
	if key := OfHost(tx, hostID); key != nil {
		tx.Remove(key)
	}
}

// UpdateOfHost gives the access key of a host the rights that follow from its role and cluster.
func UpdateOfHost(tx command.Transaction, host *spec.Host) {
	known := OfHost(tx, host.ID)
	if known == nil {
		return
	}
	key := *known
	if key.Role, key.Cluster = accesskey.HostRights(host.Server, host.Cluster); !command.Equal(&key, known) {
		tx.Put(&key)
	}
}
