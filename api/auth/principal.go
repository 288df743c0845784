// Package auth is authentication and authorization: who calls (Principal), how that is proved (a signature, a bearer key, the
// root-only socket), what an access key may do (role and cluster scope), and that a signature changes something only once.
package auth

import (
	"cmp"
	"net/http"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Principal is the authenticated caller of one request.
type Principal struct {
	ARN       string
	KeyID     string          // of the access key; empty for root through the socket
	KeyName   string          // of the access key: what it is for, empty when nobody said so
	Owner     string          // of the access key: whom its limits count for
	HostID    string          // of the host whose own key that is; empty for any other
	Task      string          // of the task that has the access key by its role; empty for any other
	Role      accesskey.Role  // of the access key
	Clusters  KeyClusters     // of the access key
	Grant     accesskey.Grant // of the access key
	Region    string          // that the request was signed for; of every ARN in the response
	Signature string          // of a signed request; empty through the socket and with a bearer key
}

// root is the principal of a request without a signature through the root-only socket.
func root(region string) Principal {
	return Principal{ARN: "arn:aws:iam::" + spec.AccountID + ":root", Role: accesskey.RoleAdmin, Region: region}
}

// SlotOwner is whom slots count for of which each has a part: the owner of the access key, or root.
func (p Principal) SlotOwner() string { return cmp.Or(p.Owner, p.ARN) }

// RequireRole refuses a principal whose role is not enough for an operation.
func (p Principal) RequireRole(needed accesskey.Role, operation string) error {
	if p.Role.May(needed) {
		return nil
	}
	if p.HostID != "" {
		return wire.Errorf(wire.AccessDenied, "%s may not do %s: it is the own key of host %s, which is an agent now: the pool's servers change when one of them is gone for long, and an own key follows its host. Root there may look at its cluster, and drain, activate and remove that host. "+
			"This needs the role %s: do it on a server (`pinion hosts` lists them), or with --host, --key-id and --key-secret of a key that `pinion keys create --role %s` made there.", p.ARN, operation, p.HostID, needed, needed)
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do %s: its access key has the role %s, and this needs the role %s. An administrator makes such a key: `pinion key create --role %s`.", p.ARN, operation, p.Role, needed, needed)
}

// RequireUnscoped refuses a key that is for some clusters an operation that is about the whole pool.
func (p Principal) RequireUnscoped(operation string) error {
	if p.Clusters == "" {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do %s: its key (role %s) is for %v alone, and this is about all of them. A key made without --cluster may.", p.ARN, operation, p.Role, p.Clusters.Set())
}

// RequireCluster refuses a key that is for another cluster.
func (p Principal) RequireCluster(cluster string) error { return p.Clusters.Check(p.ARN, cluster) }

// Sees reports whether the principal may see tasks of a cluster and a team, those that have ended too: of its clusters, and, when its key is
// for teams, of these alone.
func (p Principal) Sees(cluster, team string) bool {
	return p.Clusters.Covers(cluster) && p.Grant.SeesTeam(team)
}

// SeesAll reports whether the principal may see what is of all clusters and teams, and of the pool itself.
func (p Principal) SeesAll() bool { return p.Clusters == "" && len(p.Grant.Teams) == 0 }

// SeesTask is Sees for a task.
func (p Principal) SeesTask(t *spec.Task) bool {
	return p.Clusters.Covers(t.Cluster) && SeesTask(p.Grant, t)
}

// SeesTask reports whether a key with this grant sees a task of its clusters.
func SeesTask(g accesskey.Grant, t *spec.Task) bool {
	return len(g.Teams) == 0 || g.SeesTeam(t.SchedulingOptions().Team)
}

// SeesService is Sees for a service.
func (p Principal) SeesService(s *service.Service) bool {
	return p.Clusters.Covers(s.Cluster) && SeesService(p.Grant, s)
}

// SeesService reports whether a key with this grant sees a service of its clusters: one whose tasks count for a team of the key.
func SeesService(g accesskey.Grant, s *service.Service) bool {
	options, _ := spec.ParseSchedulingOptions(s.Tags) // they were checked
	return g.SeesTeam(options.Team)
}

// CheckAccount holds a key to its limits of tasks: it does not have tasks run of a service whose tasks count for somebody else.
func CheckAccount(principal string, g accesskey.Grant, owner string, s *service.Service) error {
	if !g.LimitsTasks() || s.Owner != nil && s.Owner.Key == owner {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: its key has limits of tasks or GPUs, and the tasks of the service %s count for another key. It may scale it down. Use a key without limits, or a service of your own.",
		principal, s.Name)
}

// RequireTask refuses a principal that may not see a task; see Sees.
func (p Principal) RequireTask(t *spec.Task) error {
	return p.RequireTeam(t.Cluster, t.SchedulingOptions().Team)
}

// RequireTeam refuses a principal that may not see tasks of a cluster and a team; see Sees.
func (p Principal) RequireTeam(cluster, team string) error {
	if err := p.RequireCluster(cluster); err != nil || p.Sees(cluster, team) {
		return err
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for the teams %s, and the task was of another one.", p.ARN, strings.Join(p.Grant.Teams, ", "))
}

// ClusterOf returns the cluster that a request is about, empty for all: ?cluster=NAME, or the one that the key is for. A key for
// several has to name one.
func (p Principal) ClusterOf(r *http.Request) (string, error) {
	named := r.URL.Query().Get("cluster")
	if named == "" && p.Clusters != "" && !p.Clusters.Set().IsSingle() {
		return "", wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v, and this is about all of them: name one with ?cluster=NAME (--cluster NAME).", p.ARN, p.Clusters.Set())
	}
	named = cmp.Or(named, string(p.Clusters))
	return named, p.RequireCluster(named)
}

// KeyClusters is the only clusters that an access key is for, with commas between; empty when it is for all.
type KeyClusters string

// Set is the clusters of the scope.
func (s KeyClusters) Set() spec.ClusterSet { return spec.ClusterSet(s) }

// Covers reports whether a key of this scope may know of a cluster.
func (s KeyClusters) Covers(cluster string) bool { return s.Set().Has(cluster) }

// Check refuses a request about a cluster outside the scope.
func (s KeyClusters) Check(principal, cluster string) error {
	if s.Covers(cluster) {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v, not for %s.", principal, s.Set(), cmp.Or(cluster, "all"))
}

// CheckUse refuses to show or run a task definition that belongs to other clusters, unless it is shared with one of the scope. So a key
// learns nothing of what others put into commands and environments, which an override of the command would print.
func (s KeyClusters) CheckUse(principal string, view *raftfsm.View, definition *spec.TaskDefinition) error {
	if s.MayUse(view, definition) {
		return nil
	}
	owners, _ := view.FamilyClusters(definition.Family)
	return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v, and the family %s belongs to %v. Register a family of your own, or have an administrator share this revision: pinion.share=%s among the tags of the task definition lets those keys see and run it.",
		principal, s.Set(), definition.Family, ownersText(owners), strings.ReplaceAll(string(s), ",", " "))
}

// MayUse reports whether a key of this scope may see and run a task definition.
func (s KeyClusters) MayUse(view *raftfsm.View, definition *spec.TaskDefinition) bool {
	if s == "" {
		return true
	}
	owners, _ := view.FamilyClusters(definition.Family)
	return s.Set().Intersects(owners) || s.Set().Intersects(definition.SharedWith())
}

// CheckChange refuses to revise, end or tag a family that belongs to other clusters too. A new family passes: it will belong to the scope.
func (s KeyClusters) CheckChange(principal string, view *raftfsm.View, family string) error {
	owners, known := view.FamilyClusters(family)
	if !known || s.Set().Contains(owners) {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for %v, and the family %s belongs to %v. Use another family name, or a key for all of its clusters.",
		principal, s.Set(), family, ownersText(owners))
}

// ownersText names the owners of a family.
func ownersText(owners spec.ClusterSet) string {
	if owners == "" {
		return "the whole pool, as it was registered with a key for all clusters"
	}
	return owners.String()
}
