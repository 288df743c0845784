// Package credential has the records of access keys, accesskey.Key: how the state keeps them, and the commands that change them. Package raftfsm
// registers both. The keys of tasks have no record: they follow from the task and its role (package taskrole).
package credential

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/table"
	"pinion/raftfsm/taskrole"
)

var (
	byID   = table.By(func(k *accesskey.Key) string { return k.ID })
	byHost = table.By(func(k *accesskey.Key) string { return k.HostID }).Where(func(k *accesskey.Key) bool { return k.HostID != "" })

	// byPerson has those of logins; of each person the one that ends first comes first.
	byPerson = table.By(func(k *accesskey.Key) string { return k.Login.Person }).ThenNumber(func(k *accesskey.Key) int64 { return sortkey.Time(k.Login.Expires) }).
			Then(func(k *accesskey.Key) string { return k.ID }).Where(func(k *accesskey.Key) bool { return k.Login != nil })
)

// Indexes are the indexes of the recorded keys.
func Indexes() []*table.Index[accesskey.Key] {
	return []*table.Index[accesskey.Key]{byID, byHost, byPerson}
}

// Find returns the access key with an id, nil when there is none. That of a task follows from the task and its role, and has no secret.
func Find(v taskrole.View, id string) *accesskey.Key {
	if key, ofTask := taskrole.KeyOf(v, id); ofTask {
		return key
	}
	return byID.Get(v, sortkey.Key{First: id})
}

// All lists every access key that is recorded.
func All(r table.Reader) []*accesskey.Key { return slices.Collect(byID.All(r)) }

// OfHost returns the access key of a host, nil when it has none.
func OfHost(r table.Reader, hostID string) *accesskey.Key {
	return byHost.Get(r, sortkey.Key{First: hostID})
}

// OfOwner returns the access key whose limits count for an owner: of a person the one that lives longest. Nil when there is none.
func OfOwner(v taskrole.View, owner string) *accesskey.Key {
	if person, is := strings.CutPrefix(owner, accesskey.PersonOwner); is {
		return byPerson.Last(v, person)
	}
	return cmp.Or(taskrole.OfOwner(v, owner), Find(v, owner))
}

// OfPerson lists the keys with which a person has logged in, the one that ends first at the beginning.
func OfPerson(r table.Reader, person string) []*accesskey.Key { return byPerson.List(r, person) }

// OfLogins visits the keys of all people who have logged in.
func OfLogins(r table.Reader) iter.Seq[*accesskey.Key] { return byPerson.All(r) }

// Expired visits the keys of logins that have ended before a moment.
func Expired(r table.Reader, before time.Time) iter.Seq[*accesskey.Key] {
	return byPerson.Matching(r, func(k *accesskey.Key) bool { return k.Expired(before) })
}

// NotSealedWith lists the keys that are sealed with another sealing key than the named one.
func NotSealedWith(r table.Reader, name string) (keys []*accesskey.Key) {
	for key := range byID.All(r) {
		if key.Seal != "" && key.Seal != name {
			keys = append(keys, key)
		}
	}
	return keys
}
