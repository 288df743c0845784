package raftfsm

import (
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/acme"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableSealingKey = register(noun[spec.SealingKey]{
		table: "sealing", indexes: []*table.Index[spec.SealingKey]{sealingKeyIndex},
		commands:  []kind{kindOf[RotateSealingKey](64, 1), kindOf[ResealAccessKeys](65, 1)},
		noChanges: "only servers need it", noExpiry: "it is one record",
	})
	sealingKeyIndex = table.By(func(*spec.SealingKey) string { return "" })
)

// SealingKey is the key that everything is to be sealed with, nil before the first rotation.
func (v *View) SealingKey() *spec.SealingKey { return sealingKeyIndex.Get(v, sortkey.Key{}) }

// Unsealed is what is not sealed with the sealing key yet.
type Unsealed struct {
	CA         bool // the key of the pool's CA
	AccessKeys []*accesskey.Key
	ACME       []*acme.Item
	Secrets    []*secret.Secret
}

// Empty reports whether everything is sealed with it.
func (u Unsealed) Empty() bool { return !u.CA && len(u.AccessKeys)+len(u.ACME)+len(u.Secrets) == 0 }

// SealedOtherwise is what is not sealed with the sealing key yet; nothing before the first rotation.
func (v *View) SealedOtherwise() (u Unsealed) {
	sealing := v.SealingKey()
	if sealing == nil {
		return u
	}
	for key := range accessKeysByID.All(v) {
		if key.Seal != "" && key.Seal != sealing.Name {
			u.AccessKeys = append(u.AccessKeys, key)
		}
	}
	u.CA, u.ACME, u.Secrets = v.CA() != nil && v.CA().Seal != sealing.Name, acme.SealedOtherwise(v, sealing.Name), secret.SealedOtherwise(v, sealing.Name)
	return u
}

// RotateSealingKey names another sealing key. Answer: *SealingKey.
type RotateSealingKey struct{ Key spec.SealingKey }

func (c RotateSealingKey) apply(tx *tx) (any, error) {
	if known := tx.SealingKey(); known != nil && known.Name == c.Key.Name {
		return known, nil
	}
	tx.put(tableSealingKey, &c.Key)
	return &c.Key, nil
}

// ResealAccessKeys puts the same secrets under another sealing key. A key that was removed, or sealed anew by another leader, is left
// alone. Answer: nil.
type ResealAccessKeys struct{ Keys []accesskey.Resealed }

func (c ResealAccessKeys) apply(tx *tx) (any, error) {
	for _, again := range c.Keys {
		if key := again.Of(tx.AccessKey(again.ID)); key != nil {
			tx.put(tableAccessKeys, key)
		}
	}
	return nil, nil
}

// CheckSeal refuses what is sealed with a key that servers may have removed. The CA is sealed anew first.
func (v *View) CheckSeal(name string) error {
	if sealing := v.SealingKey(); sealing.Retires(name) && v.CA() != nil && v.CA().Seal == sealing.Name {
		return spec.Unavailable("the keys that secrets are sealed with were exchanged meanwhile: try again")
	}
	return nil
}
