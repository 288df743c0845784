package rest

import (
	"cmp"
	"slices"
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
)

// joinTokenView is a join token without its secret, and without what that is checked by.
type joinTokenView struct {
	ID        string    `json:"id"`
	Role      string    `json:"role"`
	Uses      int       `json:"uses"` // how many hosts it lets in
	Used      int       `json:"used"`
	Cluster   string    `json:"cluster"` // whose tasks they run
	Expires   time.Time `json:"expires"`
	CreatedAt time.Time `json:"createdAt"`
}

type joinTokenInput struct {
	TTL     string `json:"ttl"`     // a duration such as 30m; 1h by default
	Uses    *int   `json:"uses"`    // how many hosts it lets in; 1 by default
	Role    string `json:"role"`    // host; or agent, for hosts that never become servers
	Cluster string `json:"cluster"` // whose tasks they run; the default one when it is absent
}

type newJoinTokenView struct {
	Token string `json:"token"`
	Join  string `json:"join,omitempty"` // address of a host
}

func (a *API) listJoinTokens(x *httpx.Exchange, res leader.Resolution) error {
	views := []joinTokenView{}
	for _, t := range jointoken.All(res.View) {
		views = append(views, joinTokenView{ID: t.ID, Role: t.Role, Uses: t.Uses, Used: t.Used, Cluster: t.ClusterName(), Expires: t.Expires, CreatedAt: t.CreatedAt})
	}
	return reply(x, views)
}

// createJoinToken replies with the token, and with the address of a host that a new one can join by.
func (a *API) createJoinToken(x *httpx.Exchange, res leader.Resolution) error {
	var in joinTokenInput
	if err := decode(x, &in); err != nil {
		return err
	}
	ttl, err := parseTTL(in.TTL)
	if err != nil {
		return err
	}
	uses := 0
	if in.Uses != nil {
		if uses = *in.Uses; uses < 1 {
			return wire.Errorf(wire.InvalidParameter, "uses must be a number of hosts from 1, not %d.", uses)
		}
	}
	if !slices.Contains([]string{"", jointoken.RoleHost, jointoken.RoleAgent}, in.Role) {
		return wire.Errorf(wire.InvalidParameter, "role must be host, or agent for hosts that never become servers, not %q.", in.Role)
	}
	cluster := cmp.Or(in.Cluster, spec.DefaultCluster)
	if !spec.ValidName(cluster) {
		return wire.Errorf(wire.InvalidParameter, "cluster must be a name of 1 to 255 letters, digits, hyphens and underscores, not %q.", cluster)
	}
	if a.Admin.JoinTokens == nil {
		return NotConfigured("making join tokens")
	}
	token, err := a.Admin.JoinTokens.CreateJoinToken(x.Context(), ttl, uses, in.Role, cluster)
	if err != nil {
		return err
	}
	view := newJoinTokenView{Token: token}
	if host := res.View.Host(a.HostID); host != nil {
		view.Join = host.Address
	}
	return reply(x, view)
}

// parseTTL reads a duration; empty is 0, which stands for the default.
func parseTTL(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	ttl, err := time.ParseDuration(text)
	if err != nil || ttl <= 0 {
		return 0, wire.Errorf(wire.InvalidParameter, "ttl must be a duration such as 30m or 24h, not %q.", text)
	}
	return ttl, nil
}

func (a *API) revokeJoinToken(x *httpx.Exchange, _ leader.Resolution) error {
	var in idInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if a.Admin.JoinTokens == nil {
		return NotConfigured("revoking join tokens")
	}
	if err := a.Admin.JoinTokens.RevokeJoinToken(x.Context(), in.ID); err != nil {
		return err
	}
	return ok(x)
}
