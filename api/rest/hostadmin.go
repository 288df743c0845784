package rest

import (
	"context"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

type hostInput struct {
	Host  string `json:"host"`  // id
	Force bool   `json:"force"` // remove, even if tasks are running
}

// changeHost serves /v1/admin/hosts/remove, promote and demote.
func (a *API) changeHost(x *httpx.Exchange, res leader.Resolution) error {
	var in hostInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if err := requireForHostChange(res.Principal, x.Request.PathValue("change"), in.Host); err != nil {
		return err
	}
	if a.Admin.Hosts == nil {
		return NotConfigured("changing hosts")
	}
	change, known := map[string]func(context.Context, string) error{
		"promote": a.Admin.Hosts.Promote,
		"demote":  a.Admin.Hosts.Demote,
		"remove":  func(ctx context.Context, id string) error { return a.Admin.Hosts.RemoveHost(ctx, id, in.Force) },
	}[x.Request.PathValue("change")]
	if !known {
		return wire.Errorf(httpx.NotFound, "There is no %s: hosts can be changed with remove, promote and demote.", x.Request.URL.Path)
	}
	if res.View.Host(in.Host) == nil {
		return wire.Errorf(httpx.NotFound, "There is no host with the id %q.", in.Host)
	}
	if err := change(x.Context(), in.Host); err != nil {
		return err
	}
	return ok(x)
}

// requireForHostChange refuses whoever is no admin, but for root of a host who has that host leave.
func requireForHostChange(principal auth.Principal, change, hostID string) error {
	if change == "remove" && principal.HostID != "" && principal.HostID == hostID {
		return nil
	}
	operation := "POST /v1/admin/hosts/" + change
	if err := principal.RequireRole(accesskey.RoleAdmin, operation); err != nil {
		return err
	}
	return principal.RequireUnscoped(operation)
}
