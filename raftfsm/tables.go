package raftfsm

import (
	"math"
	"pinion/raftfsm/spec"
	"time"
)

// The tables, each with its orders. The names of the tables are written into snapshots, so they never change.
var (
	tablePool      = newTable("pool", onlyPool)
	onlyPool       = by(func(*spec.Pool) string { return "" })
	tableApplied   = newTable("applied", onlyApplied)
	onlyApplied    = by(func(*applied) string { return "" })
	tableAuthority = newTable("authority", onlyAuthority)
	onlyAuthority  = by(func(*spec.Authority) string { return "" })

	tableClusters  = newTable("clusters", clustersByName)
	clustersByName = by(func(c *spec.Cluster) string { return c.Name })

	tableHosts     = newTable("hosts", hostsByID, hostsByCluster, serversByID)
	hostsByID      = by(hostID)
	hostsByCluster = by(func(h *spec.Host) string { return h.Cluster }).then(hostID).inGroups()
	serversByID    = by(hostID).where(func(h *spec.Host) bool { return h.Server }) // those that the pool wants to be servers

	tableFamilies  = newTable("families", familiesByName)
	familiesByName = by(func(f *family) string { return f.Name })

	tableDefinitions    = newTable("definitions", definitionsByName, definitionsActive, definitionsDeleting)
	definitionsByName   = byRevision()
	definitionsActive   = byRevision().where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionActive })
	definitionsDeleting = byRevision().where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionDeleting })

	tableTasks     = newTable("tasks", tasksByID, tasksByCluster, tasksByHost, tasksStopped, tasksWaiting, tasksByGang, tasksByAttempt)
	tasksByID      = by(taskID)
	tasksByCluster = by(taskCluster).then(taskID).inGroups()
	tasksWaiting   = by(taskCluster).then(taskID).inGroups().where(func(t *spec.Task) bool { return t.LastStatus == spec.Provisioning })
	tasksStopped   = byNumber(stoppedAt).then(taskID).where(func(t *spec.Task) bool { return t.LastStatus == spec.Stopped })
	// Those of a host, and first those that hold something of it.
	tasksByHost = by(func(t *spec.Task) string { return t.HostID }).thenNumber(over).then(taskID).
			where(func(t *spec.Task) bool { return t.HostID != "" })
	tasksByGang = by(func(t *spec.Task) string { return t.Gang.ID }).thenNumber(func(t *spec.Task) int64 { return int64(t.Gang.Rank) }).then(taskID).
			where(func(t *spec.Task) bool { return t.Gang != nil })
	// Those that do again what another one did, by that and the attempt.
	tasksByAttempt = by(func(t *spec.Task) string { return t.RetryOf }).thenNumber(func(t *spec.Task) int64 { return int64(t.Attempt) }).then(taskID).
			where(func(t *spec.Task) bool { return t.RetryOf != "" })

	tableTokens = newTable("tokens", tokensByID, tokensByAge)
	tokensByID  = by((*token).cluster).then((*token).text).inGroups()
	tokensByAge = byNumber(func(t *token) int64 { return instant(t.At) }).then((*token).cluster).then((*token).text)

	tableKeys = newTable("keys", keysByID)
	keysByID  = by(func(k *spec.AccessKey) string { return k.ID })

	tableJoinTokens = newTable("joinTokens", joinTokensByID)
	joinTokensByID  = by(func(t *spec.JoinToken) string { return t.ID })

	tableAdmissions  = newTable("admissions", admissionsByHost)
	admissionsByHost = by(func(a *spec.Admission) string { return a.HostID })

	tableRemoved = newTable("removed", removedByID)
	removedByID  = by(func(h *spec.RemovedHost) string { return h.ID })

	tableAccountSettings = newTable("accountSettings", settingsByPrincipal)
	settingsByPrincipal  = by(func(s *spec.AccountSetting) string { return s.Principal }).then(func(s *spec.AccountSetting) string { return s.Name })

	tableCapacityProviders = newTable("capacityProviders", providersByName)
	providersByName        = by(func(p *spec.CapacityProvider) string { return p.Name })

	tableTeams  = newTable("teams", teamsByName)
	teamsByName = by(func(t *spec.Team) string { return t.Name })

	tableUsage  = newTable("usage", usageByTeam)
	usageByTeam = by(func(u *spec.Usage) string { return u.Team })
)

// tables lists every table in the order of a snapshot: what an object refers to comes before it.
var tables = numbered(
	tableApplied, tablePool, tableClusters, tableHosts, tableFamilies, tableDefinitions, tableTasks, tableTokens, tableKeys,
	tableAuthority, tableJoinTokens, tableAdmissions, tableRemoved, tableAccountSettings, tableCapacityProviders, tableTeams, tableUsage,
)

// applied remembers the log index of the last change.
type applied struct {
	Index uint64 `json:"index"`
}

func hostID(h *spec.Host) string      { return h.ID }
func taskID(t *spec.Task) string      { return t.ID }
func taskCluster(t *spec.Task) string { return t.Cluster }
func (t *token) cluster() string      { return t.Cluster }
func (t *token) text() string         { return t.Token }

func byRevision() *order[spec.TaskDefinition] {
	return by(func(d *spec.TaskDefinition) string { return d.Family }).thenNumber(func(d *spec.TaskDefinition) int64 { return int64(d.Revision) })
}

// over is 1 for a task that holds nothing any more.
func over(t *spec.Task) int64 {
	if t.LastStatus == spec.Stopped {
		return 1
	}
	return 0
}

func stoppedAt(t *spec.Task) int64 { return instant(t.Times.Stopped) }

// The first and the last moment that have a number of their own: the years 1677 and 2262.
var (
	firstInstant = time.Unix(0, math.MinInt64)
	lastInstant  = time.Unix(0, math.MaxInt64)
)

// instant is a moment as a number. Moments that are not known come first.
func instant(t time.Time) int64 {
	switch {
	case t.Before(firstInstant):
		return math.MinInt64
	case t.After(lastInstant):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// by is the order by a text.
func by[T any](first func(*T) string) *order[T] { return &order[T]{first: first} }

// byNumber is the order by a number.
func byNumber[T any](number func(*T) int64) *order[T] {
	return by(func(*T) string { return "" }).thenNumber(number)
}

// then orders further what is equal so far.
func (o *order[T]) then(part func(*T) string) *order[T] {
	if o.second == nil {
		o.second = part
	} else {
		o.third = part
	}
	return o
}

func (o *order[T]) thenNumber(part func(*T) int64) *order[T] {
	o.number = part
	return o
}

// inGroups is for an order whose first part has few values.
func (o *order[T]) inGroups() *order[T] {
	o.grouped = true
	return o
}

// where leaves out the other objects.
func (o *order[T]) where(has func(*T) bool) *order[T] {
	o.has = has
	return o
}

// numbered tells each table its place.
func numbered(all ...relation) []relation {
	for i, table := range all {
		table.label().place = i
	}
	return all
}
