package raftfsm

import (
	"iter"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/accountsetting"
	"pinion/raftfsm/acme"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/image"
	"pinion/raftfsm/issuer"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/sealing"
	"pinion/raftfsm/secret"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
	"pinion/raftfsm/taskrole"
	"pinion/raftfsm/taskset"
	"pinion/raftfsm/team"
	"pinion/raftfsm/virtualip"
)

// The nouns of package loadbalancer. In entries of theirs the command is a member of an object.
var (
	_ = trafficNoun("loadBalancers", loadbalancer.Resource, loadbalancer.Find, func(b *loadbalancer.LoadBalancer) *[]spec.Tag { return &b.Tags },
		indexes(loadbalancer.ByID, loadbalancer.ByName),
		kindOf[Wrapped[loadbalancer.Create]](100, 1), kindOf[Wrapped[loadbalancer.Update]](101, 1), kindOf[Wrapped[loadbalancer.Delete]](102, 1))
	_ = trafficNoun("targetGroups", loadbalancer.ResourceGroup, loadbalancer.FindGroup, func(g *loadbalancer.Group) *[]spec.Tag { return &g.Tags },
		indexes(loadbalancer.GroupsByID, loadbalancer.GroupsByName), kindOf[Wrapped[loadbalancer.CreateGroup]](103, 1), kindOf[Wrapped[loadbalancer.UpdateGroup]](104, 1))
	_ = trafficNoun("listeners", loadbalancer.ResourceListener, loadbalancer.FindListener, func(l *loadbalancer.Listener) *[]spec.Tag { return &l.Tags },
		indexes(loadbalancer.ListenersByID, loadbalancer.ListenersByPort, loadbalancer.ListenersOf),
		kindOf[Wrapped[loadbalancer.CreateListener]](105, 1), kindOf[Wrapped[loadbalancer.UpdateListener]](106, 1))
	_ = trafficNoun("listenerRules", loadbalancer.ResourceRule, loadbalancer.FindRule, func(r *loadbalancer.Rule) *[]spec.Tag { return &r.Tags },
		indexes(loadbalancer.RulesByID, loadbalancer.RulesOf), kindOf[Wrapped[loadbalancer.CreateRule]](107, 1), kindOf[Wrapped[loadbalancer.UpdateRules]](108, 1))
)

var _ = register(noun[loggroup.Group]{
	table: "logGroups", indexes: indexes(loggroup.ByName), noChanges: "ECS has no event of it",
	commands: []kind{wrappedKindOf[loggroup.Create](60, 1), wrappedKindOf[loggroup.SetRetention](61, 1), wrappedKindOf[loggroup.Delete](62, 1)},
	expired:  func(v *View, r Reap) iter.Seq[*loggroup.Group] { return loggroup.Expired(v, r.Before) },
	tags:     &tagging[loggroup.Group]{kind: spec.ResourceLogGroup, find: inView(loggroup.Find), tags: func(g *loggroup.Group) *[]spec.Tag { return &g.Tags }},
})

var _ = register(noun[capacityprovider.Provider]{
	table: "capacityProviders", indexes: indexes(capacityprovider.ByName), noChanges: "ECS has no event of it",
	commands: []kind{wrappedKindOf[capacityprovider.Create](18, 1), wrappedKindOf[capacityprovider.Update](19, 1), wrappedKindOf[capacityprovider.Delete](20, 1)},
	expired: func(v *View, r Reap) iter.Seq[*capacityprovider.Provider] {
		return capacityprovider.Expired(v, r.Before)
	},
	tags: &tagging[capacityprovider.Provider]{kind: spec.ResourceCapacityProvider, find: func(v *View, name string) *capacityprovider.Provider { return capacityprovider.Find(v, name) },
		tags: func(p *capacityprovider.Provider) *[]spec.Tag { return &p.Tags }, readOnly: capacityprovider.ReadOnly},
})

var tableJoinTokens = register(noun[jointoken.Token]{
	table: "joinTokens", indexes: indexes(jointoken.ByID), noChanges: "only administrators may list them", noCluster: "the first host of a cluster creates it",
	commands: []kind{wrappedKindOf[jointoken.Create](4, 1), wrappedKindOf[jointoken.Revoke](5, 1)},
	expired:  func(v *View, r Reap) iter.Seq[*jointoken.Token] { return jointoken.Expired(v, r.TokensBefore) },
})

var _ = register(noun[accountsetting.Setting]{
	table: "accountSettings", indexes: indexes(accountsetting.ByPrincipal), noChanges: "ECS has no event of it", noExpiry: "a command deletes it", commands: []kind{wrappedKindOf[accountsetting.Put](33, 1), wrappedKindOf[accountsetting.Delete](34, 1)},
})

var _ = register(noun[acme.Item]{
	table: "acme", indexes: indexes(acme.ByKey), noChanges: "only hosts read them", noCluster: "they are the pool's",
	commands: []kind{wrappedKindOf[acme.Put](120, 1), wrappedKindOf[acme.Delete](121, 1)},
	expired:  func(v *View, r Reap) iter.Seq[*acme.Item] { return acme.Expired(v, r.Before) },
})

var _ = register(noun[image.Image]{
	table: "images", indexes: indexes(image.ByName), noChanges: "only administrators may list them", noExpiry: "a command deletes it", noCluster: "they are the pool's", commands: []kind{wrappedKindOf[image.Put](143, 1), wrappedKindOf[image.Delete](144, 1)},
})

var _ = register(noun[secret.Secret]{
	table: "secrets", indexes: secret.Indexes(), noChanges: "who may read events need not know of them", noCluster: "one of the name that is created later has them",
	commands: []kind{wrappedKindOf[secret.Create](140, 1), wrappedKindOf[secret.Replace](141, 1), wrappedKindOf[secret.Delete](142, 1)},
	expired:  func(v *View, r Reap) iter.Seq[*secret.Secret] { return secret.Expired(v, r.Before) },
	tags:     &tagging[secret.Secret]{kind: secret.Resource, find: inView(secret.FindID), tags: secret.Tags, readOnly: secret.ReadOnly, check: secret.CheckTags, change: secret.CountChange},
})

var _ = register(noun[taskset.Set]{
	table: "taskSets", indexes: indexes(taskset.ByID), refersTo: []string{"services", "serviceRevisions"},
	noChanges: "its service is told", noExpiry: "it goes with its deployment", noCluster: "its service does",
	commands: []kind{wrappedKindOf[taskset.Create](130, 1), wrappedKindOf[taskset.Scale](131, 1), wrappedKindOf[taskset.Delete](132, 1), wrappedKindOf[taskset.MakePrimary](133, 1)},
	tags:     &tagging[taskset.Set]{kind: spec.ResourceTaskSet, find: inView(taskset.Find), tags: func(s *taskset.Set) *[]spec.Tag { return &s.Tags }},
})

var _ = register(noun[alarm.Alarm]{
	table: "alarms", indexes: alarm.Indexes(), noChanges: "services tell of what their alarms start", noExpiry: "a command deletes it", noCluster: "its data are missing then",
	commands: []kind{wrappedKindOf[alarm.Put](115, 1), wrappedKindOf[alarm.Delete](116, 1), wrappedKindOf[alarm.SetState](117, 1)},
	tags:     &tagging[alarm.Alarm]{kind: alarm.Resource, find: inView(alarm.Find), tags: func(a *alarm.Alarm) *[]spec.Tag { return &a.Tags }},
})

var _ = register(noun[taskrole.Role]{
	table: "taskRoles", indexes: indexes(taskrole.ByName), noChanges: "only administrators may list them", noExpiry: "a command deletes it", noCluster: "a role for a cluster that is gone gives nothing",
	commands: []kind{wrappedKindOf[taskrole.Put](145, 1), wrappedKindOf[taskrole.Delete](146, 1)},
})

var _ = register(noun[virtualip.Address]{
	table: "virtualIPs", indexes: indexes(virtualip.ByIP), noChanges: "hosts and the list of hosts say who holds one",
	commands: []kind{wrappedKindOf[virtualip.Assign](111, 1)},
	expired:  func(v *View, r Reap) iter.Seq[*virtualip.Address] { return virtualip.Expired(v, r.Before) },
})

var _ = register(noun[virtualip.Assigner]{
	table: "virtualIPAssigner", indexes: indexes(virtualip.Assigners), noChanges: "it is the leader, of which there is an event", noExpiry: "there is one", commands: []kind{wrappedKindOf[virtualip.BecomeAssigner](112, 1)},
})

var _ = register(noun[team.Team]{
	table: "teams", indexes: indexes(team.ByName), noChanges: "the queue controller reads the teams several times a second", noExpiry: "a command deletes it",
	commands: []kind{wrappedKindOf[team.Put](31, 1), wrappedKindOf[team.Delete](32, 1)},
})

var _ = register(noun[spec.CA]{
	table: "authority", indexes: indexes(ca.Index), noChanges: "it changes once in years, and hosts are told of it otherwise", noExpiry: "it is one record",
	commands: []kind{wrappedKindOf[ca.Put](3, 1), wrappedKindOf[ca.Rotate](80, 1), wrappedKindOf[ca.NarrowOverlap](81, 1)},
})

var _ = register(noun[sealing.Key]{
	table: "sealing", indexes: indexes(sealing.Index), noChanges: "only servers need it", noExpiry: "it is one record",
	commands: []kind{wrappedKindOf[sealing.Rotate](64, 1)},
})

var _ = register(noun[accesskey.Key]{
	table: "keys", indexes: credential.Indexes(), noChanges: "only administrators may list them", noCluster: "a key for a cluster that is gone may do nothing",
	commands: []kind{wrappedKindOf[credential.Create](35, 1), wrappedKindOf[credential.Delete](36, 1), wrappedKindOf[credential.Reseal](65, 1)},
	expired:  func(v *View, r Reap) iter.Seq[*accesskey.Key] { return credential.Expired(v, r.Before) },
})

var _ = register(noun[issuer.Issuer]{
	table: "issuer", indexes: indexes(issuer.Index), noChanges: "only administrators may see it", noExpiry: "it is one record",
	commands: []kind{wrappedKindOf[issuer.Put](70, 1), wrappedKindOf[issuer.Delete](71, 1)},
})

var _ = register(noun[issuer.UsedIDToken]{
	table: "usedIdTokens", indexes: indexes(issuer.UsedIDTokensByHash), noChanges: "the key that it was used for is told to nobody either",
	commands: []kind{wrappedKindOf[issuer.Login](72, 1)},
	expired:  func(v *View, r Reap) iter.Seq[*issuer.UsedIDToken] { return issuer.ExpiredIDTokens(v, r.Before) },
})

var _ = register(noun[scaling.Target]{
	table: "scalableTargets", indexes: indexes(scaling.ByService), refersTo: []string{"services"},
	noChanges: "its service tells of what it does", noExpiry: "it goes with its service", noCluster: "its service does",
	commands: []kind{wrappedKindOf[scaling.ChangeTarget](110, 1)},
	tags:     &tagging[scaling.Target]{kind: spec.ResourceScalableTarget, find: inView(scaling.Find), tags: func(t *scaling.Target) *[]spec.Tag { return &t.Tags }},
})

// inView is a read of a package as a method of View.
func inView[T any](find func(table.Reader, string) *T) func(*View, string) *T {
	return func(v *View, id string) *T { return find(v, id) }
}

func trafficNoun[T any](name string, resource spec.ResourceKind, find func(table.Reader, string) *T, tags func(*T) *[]spec.Tag, indexes []*table.Index[T], commands ...kind) *nounTable[T] {
	return register(noun[T]{
		table: name, indexes: indexes, commands: commands, noChanges: "readers compare what Routing is made of them", noExpiry: "a deleted one is gone",
		tags: &tagging[T]{kind: resource, find: inView(find), tags: tags},
	})
}
