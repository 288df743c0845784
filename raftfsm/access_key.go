package raftfsm

import (
	"bytes"
	"fmt"

	"pinion/raftfsm/spec"
)

var (
	tableAccessKeys = register(noun[spec.AccessKey]{
		table: "keys", indexes: []*index[spec.AccessKey]{accessKeysByID},
		commands:  []kind{kindOf[CreateAccessKey](35, 1), kindOf[DeleteAccessKey](36, 1)},
		noChanges: "only administrators may list them", noExpiry: "DeleteAccessKey deletes it",
		noCluster: "a key for a cluster that is gone may do nothing",
	})
	accessKeysByID = indexBy(func(k *spec.AccessKey) string { return k.ID })
)

// CreateAccessKey stores an access key. Storing the same key again changes nothing; another secret under the same id is
// ErrInUse. Answer: *AccessKey.
type CreateAccessKey struct{ Key spec.AccessKey }

func (c CreateAccessKey) apply(tx *tx) (any, error) {
	known := tx.AccessKey(c.Key.ID)
	if known == nil {
		tx.put(tableAccessKeys, &c.Key)
		return &c.Key, nil
	}
	if known.Secret != c.Key.Secret || !bytes.Equal(known.Sealed, c.Key.Sealed) {
		return nil, fmt.Errorf("access key %s: %w: make one with another id", c.Key.ID, spec.ErrInUse)
	}
	return known, nil
}

// DeleteAccessKey revokes an access key at once. ErrNotFound. Answer: nil.
type DeleteAccessKey struct{ ID string }

func (c DeleteAccessKey) apply(tx *tx) (any, error) {
	known := tx.AccessKey(c.ID)
	if known == nil {
		return nil, fmt.Errorf("access key %s: %w", c.ID, spec.ErrNotFound)
	}
	tx.remove(tableAccessKeys, known)
	return nil, nil
}
