package raftfsm

import (
	"math"
	"time"

	"pinion/raftfsm/spec"
)

// The tables, each with its orders. The names of the tables are written into snapshots, so they never change.
var (
	tablePool    = newTable("pool", poolIndex)
	poolIndex    = indexBy(func(*spec.Pool) string { return "" })
	tableApplied = newTable("applied", appliedIndex)
	appliedIndex = indexBy(func(*lastApplied) string { return "" })
	tableCA      = newTable("authority", caIndex)
	caIndex      = indexBy(func(*spec.CA) string { return "" })

	tableClusters  = newTable("clusters", clustersByName)
	clustersByName = indexBy(func(c *spec.Cluster) string { return c.Name })

	tableHosts     = newTable("hosts", hostsByID, hostsByCluster, serversByID)
	hostsByID      = indexBy(hostID)
	hostsByCluster = indexBy(func(h *spec.Host) string { return h.Cluster }).then(hostID).hashPrefix()
	serversByID    = indexBy(hostID).where(func(h *spec.Host) bool { return h.Server }) // those that the pool wants to be servers

	tableFamilies  = newTable("families", familiesByName)
	familiesByName = indexBy(func(f *family) string { return f.Name })

	tableDefinitions    = newTable("definitions", definitionsByName, definitionsActive, definitionsDeleting)
	definitionsByName   = byRevision()
	definitionsActive   = byRevision().where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionActive })
	definitionsDeleting = byRevision().where(func(d *spec.TaskDefinition) bool { return d.Status == spec.DefinitionDeleting })

	tableTasks     = newTable("tasks", tasksByID, tasksByCluster, tasksByHost, tasksStopped, tasksQueued, tasksByGang, tasksByAttempt)
	tasksByID      = indexBy(taskID)
	tasksByCluster = indexBy(taskCluster).then(taskID).hashPrefix()
	tasksQueued    = indexBy(taskCluster).then(taskID).hashPrefix().where(func(t *spec.Task) bool { return t.LastStatus == spec.Provisioning })
	tasksStopped   = indexByNumber(stoppedAt).then(taskID).where(func(t *spec.Task) bool { return t.LastStatus == spec.Stopped })
	// Those of a host, and first those that hold something of it.
	tasksByHost = indexBy(func(t *spec.Task) string { return t.HostID }).thenNumber(stoppedRank).then(taskID).
			where(func(t *spec.Task) bool { return t.HostID != "" })
	tasksByGang = indexBy(func(t *spec.Task) string { return t.Gang.ID }).thenNumber(func(t *spec.Task) int64 { return int64(t.Gang.Rank) }).then(taskID).
			where(func(t *spec.Task) bool { return t.Gang != nil })
	// Those that do again what another one did, by that and the attempt.
	tasksByAttempt = indexBy(func(t *spec.Task) string { return t.RetryOf }).thenNumber(func(t *spec.Task) int64 { return int64(t.Attempt) }).then(taskID).
			where(func(t *spec.Task) bool { return t.RetryOf != "" })

	tableClientTokens = newTable("tokens", clientTokensByID, clientTokensByAge)
	clientTokensByID  = indexBy((*clientToken).cluster).then((*clientToken).tokenText).hashPrefix()
	clientTokensByAge = indexByNumber(func(t *clientToken) int64 { return timeKey(t.At) }).then((*clientToken).cluster).then((*clientToken).tokenText)

	tableAccessKeys = newTable("keys", accessKeysByID)
	accessKeysByID  = indexBy(func(k *spec.AccessKey) string { return k.ID })

	tableJoinTokens = newTable("joinTokens", joinTokensByID)
	joinTokensByID  = indexBy(func(t *spec.JoinToken) string { return t.ID })

	tableAdmissions  = newTable("admissions", admissionsByHost)
	admissionsByHost = indexBy(func(a *spec.Admission) string { return a.HostID })

	tableRemoved = newTable("removed", removedByID)
	removedByID  = indexBy(func(h *spec.RemovedHost) string { return h.ID })

	tableAccountSettings = newTable("accountSettings", settingsByPrincipal)
	settingsByPrincipal  = indexBy(func(s *spec.AccountSetting) string { return s.Principal }).then(func(s *spec.AccountSetting) string { return s.Name })

	tableCapacityProviders = newTable("capacityProviders", providersByName)
	providersByName        = indexBy(func(p *spec.CapacityProvider) string { return p.Name })

	tableTeams  = newTable("teams", teamsByName)
	teamsByName = indexBy(func(t *spec.Team) string { return t.Name })

	tableUsage  = newTable("usage", usageByTeam)
	usageByTeam = indexBy(func(u *spec.Usage) string { return u.Team })
)

// tables lists every table in the order of a snapshot: what an object refers to comes before it.
var tables = withPositions(
	tableApplied, tablePool, tableClusters, tableHosts, tableFamilies, tableDefinitions, tableTasks, tableClientTokens, tableAccessKeys,
	tableCA, tableJoinTokens, tableAdmissions, tableRemoved, tableAccountSettings, tableCapacityProviders, tableTeams, tableUsage,
)

// lastApplied remembers the log index of the last change.
type lastApplied struct {
	Index uint64 `json:"index"`
}

func hostID(h *spec.Host) string         { return h.ID }
func taskID(t *spec.Task) string         { return t.ID }
func taskCluster(t *spec.Task) string    { return t.Cluster }
func (t *clientToken) cluster() string   { return t.Cluster }
func (t *clientToken) tokenText() string { return t.Token }

func byRevision() *index[spec.TaskDefinition] {
	return indexBy(func(d *spec.TaskDefinition) string { return d.Family }).thenNumber(func(d *spec.TaskDefinition) int64 { return int64(d.Revision) })
}

// stoppedRank is 1 for a task that holds nothing any more.
func stoppedRank(t *spec.Task) int64 {
	if t.LastStatus == spec.Stopped {
		return 1
	}
	return 0
}

func stoppedAt(t *spec.Task) int64 { return timeKey(t.Times.Stopped) }

// The first and the last moment that have a number of their own: the years 1677 and 2262.
var (
	minTime = time.Unix(0, math.MinInt64)
	maxTime = time.Unix(0, math.MaxInt64)
)

// timeKey is a moment as a number. Moments that are not known come first.
func timeKey(t time.Time) int64 {
	switch {
	case t.Before(minTime):
		return math.MinInt64
	case t.After(maxTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// indexBy is the order by a text.
func indexBy[T any](first func(*T) string) *index[T] { return &index[T]{first: first} }

// indexByNumber is the order by a number.
func indexByNumber[T any](number func(*T) int64) *index[T] {
	return indexBy(func(*T) string { return "" }).thenNumber(number)
}

// then orders further what is equal so far.
func (o *index[T]) then(part func(*T) string) *index[T] {
	if o.second == nil {
		o.second = part
	} else {
		o.third = part
	}
	return o
}

func (o *index[T]) thenNumber(part func(*T) int64) *index[T] {
	o.number = part
	return o
}

// hashPrefix is for an order whose first part has few values.
func (o *index[T]) hashPrefix() *index[T] {
	o.hashedPrefix = true
	return o
}

// where leaves out the other objects.
func (o *index[T]) where(has func(*T) bool) *index[T] {
	o.predicate = has
	return o
}

// withPositions tells each table its place.
func withPositions(all ...anyTable) []anyTable {
	for i, table := range all {
		table.tableInfo().position = i
	}
	return all
}
