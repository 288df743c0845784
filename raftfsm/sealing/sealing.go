// Package sealing has the record of the sealing key: how the state keeps it, the command that names another one, and the list of what is not sealed
// with it yet. Package raftfsm registers the noun.
package sealing

import (
	"slices"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/acme"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/command"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Key names the key that every secret in the state is to be sealed with. The key itself is on the disks of servers and never recorded.
type Key struct {
	Name    string    `json:"name"`
	Since   time.Time `json:"since"`
	Retired []string  `json:"retired,omitempty"` // names of the keys before: servers remove them once nothing is sealed with them
}

// Retires reports whether the named key is one of those before.
func (k *Key) Retires(name string) bool { return k != nil && slices.Contains(k.Retired, name) }

// Index has the record.
var Index = table.By(func(*Key) string { return "" })

// Find returns the key that everything is to be sealed with, nil before the first rotation.
func Find(r table.Reader) *Key { return Index.Get(r, sortkey.Key{}) }

// OutdatedSeals lists the objects that are not sealed with the sealing key yet.
type OutdatedSeals struct {
	CA         bool // the key of the pool's CA
	AccessKeys []*accesskey.Key
	ACME       []*acme.Item
	Secrets    []*secret.Secret
}

// Empty reports whether everything is sealed with it.
func (u OutdatedSeals) Empty() bool {
	return !u.CA && len(u.AccessKeys)+len(u.ACME)+len(u.Secrets) == 0
}

// Outdated lists the objects that are not sealed with the sealing key yet: none before the first rotation.
func Outdated(r table.Reader) (u OutdatedSeals) {
	key, authority := Find(r), ca.Find(r)
	if key == nil {
		return u
	}
	u.AccessKeys = credential.NotSealedWith(r, key.Name)
	u.CA, u.ACME, u.Secrets = authority != nil && authority.Seal != key.Name, acme.NotSealedWith(r, key.Name), secret.NotSealedWith(r, key.Name)
	return u
}

// Check refuses a secret that is sealed with a key that servers may have removed: spec.ErrUnavailable. The CA is sealed anew first.
func Check(r table.Reader, name string) error {
	if key, authority := Find(r), ca.Find(r); key.Retires(name) && authority != nil && authority.Seal == key.Name {
		return spec.Unavailable("the sealing key was rotated meanwhile: try again")
	}
	return nil
}

// Rotate names another sealing key. Answer: *Key.
type Rotate struct{ Key Key }

// Apply carries the command out.
func (c Rotate) Apply(tx command.Transaction) (any, error) {
	if known := Find(tx); known != nil && known.Name == c.Key.Name {
		return known, nil
	}
	tx.Put(&c.Key)
	return &c.Key, nil
}
