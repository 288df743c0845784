// Package accesskey has the keys that sign requests: what they may do, and until when.
//
// A family belongs to the clusters of the key that made it, for ever; who is not for all of its clusters cannot revise it.
package accesskey

import (
	"time"

	"pinion/raftfsm/iam"
)

// Key lets a client sign requests (SigV4). A server needs the secret itself to check a signature, so the secret is sealed, not hashed:
// with a key that servers keep on their disks and that never enters the state.
type Key struct {
	ID        string    `json:"id"`               // "AKIA" + 16 upper-case letters and digits
	Secret    string    `json:"secret,omitempty"` // in clear, for the caller that made the key; never recorded by a server, never logged
	Sealed    []byte    `json:"sealed,omitempty"` // the secret, as whoever holds the sealing key can read it
	Seal      string    `json:"seal,omitempty"`   // which sealing key that is
	Role      Role      `json:"role"`
	Cluster   string    `json:"cluster,omitempty"` // the only ones that it is for, as a ClusterSet; all when empty
	HostID    string    `json:"hostId,omitempty"`  // of a host's own key, which ends with the host; its rights follow HostRights
	CreatedAt time.Time `json:"createdAt"`
	Grant     Grant     `json:"grant,omitzero" level:"1"`
	Login     *Login    `json:"login,omitempty" level:"1"` // of a key that `pinion login` made; nil: it does not expire
	Name      string    `json:"name,omitempty" level:"1"`  // what it is for, in words of who made it; keys may have the same

	Assumed *iam.AssumedRole `json:"-"` // of a key that a task has by its role, which no record is of; nil: it is none
}

// Login says whose key it is that `pinion login` made, and until when.
type Login struct {
	Person  string    `json:"person"`  // the name that the issuer gives
	Subject string    `json:"subject"` // the issuer's id of the person
	Issuer  string    `json:"issuer"`
	Groups  []string  `json:"groups"` // that gave the key its rights
	Expires time.Time `json:"expires"`
}

// Expires returns the time at which the key ends; zero: never. Only that of a login or of a task's role ever is.
func (k *Key) Expires() time.Time {
	switch {
	case k.Login != nil:
		return k.Login.Expires
	case k.Assumed != nil:
		return k.Assumed.Expires
	}
	return time.Time{}
}

// Expired reports whether the key is over.
func (k *Key) Expired(now time.Time) bool {
	return !k.Expires().IsZero() && !now.Before(k.Expires())
}

// PersonOwner begins the owner of a person's keys.
const PersonOwner = "login/"

// Owner returns the owner for whom the limits of the key count: its person, who may have several keys one after another, its role, or the key itself.
func (k *Key) Owner() string {
	switch {
	case k.Login != nil:
		return PersonOwner + k.Login.Person
	case k.Assumed != nil:
		return iam.RoleOwner + k.Assumed.Role
	}
	return k.ID
}

// ARN is that of the principal with the key.
func (k *Key) ARN() string {
	if k.Assumed != nil {
		return k.Assumed.ARN()
	}
	return iam.OwnerARN(k.Owner())
}

// Resealed is the secret of an access key, sealed with another key.
type Resealed struct {
	ID     string
	From   string // the earlier sealing key
	Sealed []byte
	Seal   string
}

// ApplyTo is the key with its secret sealed anew; nil when it is gone, or its secret is not sealed with From.
func (r Resealed) ApplyTo(known *Key) *Key {
	if known == nil || known.Seal != r.From {
		return nil
	}
	key := *known
	key.Sealed, key.Seal = r.Sealed, r.Seal
	return &key
}
