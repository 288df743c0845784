package raftfsm

import (
	"encoding/binary"
	"time"

	"github.com/hashicorp/go-memdb"
)

// Names of the tables. They are written into snapshots, so they never change.
const (
	tableApplied     = "applied"
	tablePool        = "pool"
	tableClusters    = "clusters"
	tableHosts       = "hosts"
	tableFamilies    = "families"
	tableDefinitions = "definitions"
	tableTasks       = "tasks"
	tableTokens      = "tokens"
	tableKeys        = "keys"
	tableAuthority   = "authority"
	tableJoinTokens  = "joinTokens"
	tableAdmissions  = "admissions"
	tableRemoved     = "removed"

	tableAccountSettings = "accountSettings"

	tableCapacityProviders = "capacityProviders"
	tableTeams             = "teams"
	tableUsage             = "usage"
)

// Names of the indexes besides "id", which every table has and by which lists are ordered.
const (
	byID       = "id"
	byCluster  = "cluster"
	byHost     = "host"
	byServer   = "server"   // hosts: those that the pool wants to be servers
	byActive   = "active"   // definitions: the ACTIVE ones, by family then revision
	byDeleting = "deleting" // definitions: those that are DELETE_IN_PROGRESS, by family
	byLive     = "live"     // tasks: those that are not STOPPED, by host
	byStopped  = "stopped"  // tasks: the STOPPED ones, by the moment they stopped
	byWaiting  = "waiting"  // tasks: those that are PROVISIONING, by cluster
	byGang     = "gang"     // tasks: those of a gang, by rank
	byAttempt  = "attempt"  // tasks: those that do again what another one did, by that and the attempt
	byAge      = "age"      // tokens: by the moment they were used
)

// applied remembers the log index of the last change.
type applied struct {
	Index uint64 `json:"index"`
}

// tables lists every table in the order of a snapshot.
var tables = []table{
	tableOf[applied](tableApplied, always[applied]()),
	tableOf[Pool](tablePool, always[Pool]()),
	tableOf[Cluster](tableClusters, unique(func(c *Cluster) []byte { return key(c.Name) })),
	tableOf[Host](tableHosts, unique(func(h *Host) []byte { return key(h.ID) }),
		index(byCluster, func(h *Host) []byte { return key(h.Cluster) }), index(byServer, serverOf)),
	tableOf[family](tableFamilies, unique(func(f *family) []byte { return key(f.Name) })),
	tableOf[TaskDefinition](tableDefinitions, unique(func(d *TaskDefinition) []byte { return key(d.Family, d.Revision) }),
		index(byActive, familyIn(DefinitionActive)), index(byDeleting, familyIn(DefinitionDeleting))),
	tableOf[Task](tableTasks, unique(func(t *Task) []byte { return key(t.ID) }),
		index(byCluster, func(t *Task) []byte { return key(t.Cluster) }),
		index(byHost, hostOf), index(byLive, liveHostOf), index(byStopped, stoppedAt),
		index(byWaiting, waitingIn), index(byGang, seatOf), index(byAttempt, attemptOf)),
	tableOf[token](tableTokens, unique(func(t *token) []byte { return key(t.Cluster, t.Token) }),
		index(byAge, func(t *token) []byte { return key(t.At) })),
	tableOf[AccessKey](tableKeys, unique(func(k *AccessKey) []byte { return key(k.ID) })),
	tableOf[Authority](tableAuthority, always[Authority]()),
	tableOf[JoinToken](tableJoinTokens, unique(func(t *JoinToken) []byte { return key(t.ID) })),
	tableOf[Admission](tableAdmissions, unique(func(a *Admission) []byte { return key(a.HostID) })),
	tableOf[RemovedHost](tableRemoved, unique(func(h *RemovedHost) []byte { return key(h.ID) })),
	tableOf[AccountSetting](tableAccountSettings, unique(func(s *AccountSetting) []byte { return key(s.Principal, s.Name) })),
	tableOf[CapacityProvider](tableCapacityProviders, unique(func(p *CapacityProvider) []byte { return key(p.Name) })),
	tableOf[Team](tableTeams, unique(func(t *Team) []byte { return key(t.Name) })),
	tableOf[Usage](tableUsage, unique(func(u *Usage) []byte { return key(u.Team) })),
}

func serverOf(h *Host) []byte {
	if !h.Server {
		return nil
	}
	return key(h.ID)
}

// familyIn is the family of a definition that has the status.
func familyIn(status DefinitionStatus) func(*TaskDefinition) []byte {
	return func(d *TaskDefinition) []byte {
		if d.Status != status {
			return nil
		}
		return key(d.Family)
	}
}

func hostOf(t *Task) []byte {
	if t.HostID == "" {
		return nil
	}
	return key(t.HostID)
}

func liveHostOf(t *Task) []byte {
	if t.LastStatus == Stopped {
		return nil
	}
	return hostOf(t)
}

func stoppedAt(t *Task) []byte {
	if t.LastStatus != Stopped {
		return nil
	}
	return key(t.Times.Stopped)
}

func waitingIn(t *Task) []byte {
	if t.LastStatus != Provisioning {
		return nil
	}
	return key(t.Cluster)
}

func seatOf(t *Task) []byte {
	if t.Gang == nil {
		return nil
	}
	return key(t.Gang.ID, t.Gang.Rank)
}

func attemptOf(t *Task) []byte {
	if t.RetryOf == "" {
		return nil
	}
	return key(t.RetryOf, t.Attempt)
}

// table is one kind of object: how it is found in memory and how it is read from a snapshot.
type table struct {
	schema *memdb.TableSchema
	decode func([]byte) (any, error)
}

func tableOf[T any](name string, indexes ...*memdb.IndexSchema) table {
	schema := &memdb.TableSchema{Name: name, Indexes: map[string]*memdb.IndexSchema{}}
	for _, index := range indexes {
		schema.Indexes[index.Name] = index
	}
	decode := func(data []byte) (any, error) {
		object := new(T)
		return object, decodeStrictly(data, object)
	}
	return table{schema: schema, decode: decode}
}

// keyed is an index over objects of one type. An object whose key is nil is not in it.
type keyed[T any] struct{ keyOf func(*T) []byte }

// FromObject is memdb's question for the key of an object.
func (k keyed[T]) FromObject(object any) (bool, []byte, error) {
	found := k.keyOf(object.(*T))
	return found != nil, found, nil
}

// FromArgs is memdb's question for the key of a lookup.
func (k keyed[T]) FromArgs(args ...any) ([]byte, error) { return key(args...), nil }

// PrefixFromArgs lets a lookup name only the first parts of a key.
func (k keyed[T]) PrefixFromArgs(args ...any) ([]byte, error) { return key(args...), nil }

func index[T any](name string, keyOf func(*T) []byte) *memdb.IndexSchema {
	return &memdb.IndexSchema{Name: name, AllowMissing: true, Indexer: keyed[T]{keyOf}}
}

func unique[T any](keyOf func(*T) []byte) *memdb.IndexSchema {
	return &memdb.IndexSchema{Name: byID, Unique: true, Indexer: keyed[T]{keyOf}}
}

// always is the index of a table that holds a single object.
func always[T any]() *memdb.IndexSchema {
	return unique(func(*T) []byte { return key("") })
}

// key joins the parts so that bytes compare as the parts do: a string ends before a longer one begins, numbers and
// times (which lie after 1970 when they are known at all) compare by value.
func key(parts ...any) []byte {
	var joined []byte
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			joined = append(append(joined, part...), 0)
		case int:
			joined = binary.BigEndian.AppendUint64(joined, uint64(part))
		case time.Time:
			joined = binary.BigEndian.AppendUint64(joined, uint64(max(0, part.UnixNano())))
		default:
			panic("raftfsm: a key has parts of type string, int and time.Time only")
		}
	}
	return joined
}
