// Package acme has what the hosts of a pool share to get certificates from a CA by ACME (RFC 8555): the account, the certificates with their
// keys, and the answers to challenges, each sealed. Package raftfsm registers the noun and its commands.
package acme

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

const (
	// Max bounds the items: the account, and two for each of 500 names.
	Max = 1 + 2*500
	// MaxSize bounds what is sealed in an item, in bytes: a chain of certificates with its key has some 10,000.
	MaxSize = 64 << 10
	// lifetime is the time for which an item is kept that nobody puts again: certificates that live for longer are renewed before.
	lifetime = 400 * 24 * time.Hour
)

const (
	// AccountKey is the name under which autocert keeps the key of the account.
	AccountKey = "acme_account+key"
	// AnswerSuffix ends the key of an answer to a challenge, behind the DNS name.
	AnswerSuffix = "+token"
)

// Item is a value that a host has put, or the account, whose key the leader makes.
type Item struct {
	Key    string    `json:"key"` // of autocert: the account, or a DNS name with what the item is for
	Sealed []byte    `json:"sealed"`
	Seal   string    `json:"seal"` // name of the sealing key
	PutAt  time.Time `json:"putAt"`
}

// ByKey has every item.
var ByKey = table.By(func(e *Item) string { return e.Key })

// Find returns the item of a key; nil when there is none.
func Find(r table.Reader, key string) *Item { return ByKey.Get(r, sortkey.Key{First: key}) }

// NotSealedWith lists the items that are not sealed with a sealing key.
func NotSealedWith(r table.Reader, seal string) []*Item {
	return slices.Collect(ByKey.Matching(r, func(e *Item) bool { return e.Seal != seal }))
}

// Expired visits the items that were put so long ago that no host can need them.
func Expired(r table.Reader, before time.Time) iter.Seq[*Item] {
	return ByKey.Matching(r, func(e *Item) bool { return e.PutAt.Before(before.Add(-lifetime)) })
}

// Put records items, each in the place of an earlier one. spec.ErrLimit for more than Max. Answer: nil.
type Put struct {
	Items    []Item `json:"Entries"`
	Resealed bool   `json:",omitempty" level:"1"` // they are the known ones, sealed anew: what was put or deleted since stays so
}

// Apply carries the command out.
func (c Put) Apply(tx command.Transaction) (any, error) {
	if c.Resealed {
		c.Items = slices.DeleteFunc(slices.Clone(c.Items), func(e Item) bool {
			known := Find(tx, e.Key)
			return known == nil || !known.PutAt.Equal(e.PutAt)
		})
	}
	known := ByKey.Len(tx)
	for i := range c.Items {
		if Find(tx, c.Items[i].Key) == nil {
			known++
		}
	}
	if known > Max {
		return nil, fmt.Errorf("certificates by ACME: %w: a pool keeps %d items", spec.ErrLimit, Max)
	}
	for i := range c.Items {
		tx.Put(&c.Items[i])
	}
	return nil, nil
}

// Delete deletes the item of a key; a missing one is no error. Answer: nil.
type Delete struct {
	Key   string
	PutAt time.Time `json:",omitzero" level:"1"` // zero: whenever it was put; otherwise another one stays
}

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	if known := Find(tx, c.Key); known != nil && (c.PutAt.IsZero() || known.PutAt.Equal(c.PutAt)) {
		tx.Remove(known)
	}
	return nil, nil
}
