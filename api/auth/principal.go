// Package auth is authentication and authorization: who calls (Principal), how that is proved (a signature, a bearer key, the
// root-only socket), what an access key may do (role and cluster scope), and that a signature changes something only once.
package auth

import (
	"cmp"
	"net/http"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// Principal is the authenticated caller of one request.
type Principal struct {
	ARN       string
	KeyID     string       // of the access key; empty for root through the socket
	Role      spec.Role    // of the access key
	Scope     ClusterScope // of the access key
	Region    string       // that the request was signed for; of every ARN in the response
	Signature string       // of a signed request; empty through the socket and with a bearer key
}

// root is the principal of a request without a signature through the root-only socket.
func root(region string) Principal {
	return Principal{ARN: "arn:aws:iam::" + spec.AccountID + ":root", Role: spec.RoleAdmin, Region: region}
}

// RequireRole refuses a principal whose role is not enough.
func (p Principal) RequireRole(needed spec.Role) error {
	if p.Role.May(needed) {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: it needs an access key with the role %s.", p.ARN, needed)
}

// RequireUnscoped refuses a key that is for one cluster what is about the whole pool.
func (p Principal) RequireUnscoped() error {
	if p.Scope == "" {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for the cluster %s alone, and this is about all of them.", p.ARN, p.Scope)
}

// RequireCluster refuses a key that is for another cluster.
func (p Principal) RequireCluster(cluster string) error { return p.Scope.Check(p.ARN, cluster) }

// ClusterOf returns the cluster that a request is about, empty for all: ?cluster=NAME, or the one that the key is for.
func (p Principal) ClusterOf(r *http.Request) (string, error) {
	named := cmp.Or(r.URL.Query().Get("cluster"), string(p.Scope))
	return named, p.RequireCluster(named)
}

// ClusterScope is the only cluster that an access key is for; empty when it is for all.
type ClusterScope string

// Covers reports whether a key of this scope may know of a cluster.
func (s ClusterScope) Covers(cluster string) bool { return s == "" || string(s) == cluster }

// Check refuses a request about a cluster outside the scope.
func (s ClusterScope) Check(principal, cluster string) error {
	if s.Covers(cluster) {
		return nil
	}
	return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for the cluster %s, not for %s.", principal, s, cluster)
}
