package api

import (
	"net/http"
	"reflect"

	"pinion/api/auth"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/api/upgrade"
	"pinion/raftfsm/accesskey"
)

// upgradeRoutes have hosts exchange their program. They are for administrators of the whole pool; the host itself decides whether a program is one that it may run.
func upgradeRoutes(a *rest.API, remote upgrade.Remote, local leader.LocalState) []rest.Route {
	const path, admin = "/v1/admin/hosts/{id}/upgrade", accesskey.RoleAdmin
	h := upgrade.Handler{HostID: a.HostID, Remote: remote, Applied: func() (uint64, bool) { return appliedIndex(local) }}
	status := reflect.TypeFor[upgrade.Status]()
	on := func(answer rest.HostHandler) rest.Handler {
		return rest.OnHost(a.Peers, "Try again when it is back.", answer)
	}
	return []rest.Route{
		{Method: http.MethodGet, Path: path, Role: admin, Scope: auth.PoolWide, Summary: "which program a host runs, and how its last upgrade has ended, or how far it is", Out: status, Serve: on(h.Show), Host: h.Show},
		{Method: http.MethodPost, Path: path, Role: admin, Scope: auth.PoolWide, Summary: "starts the upgrade of a host to a signed program from an image of the pool",
			In: reflect.TypeFor[upgrade.Request](), Out: status, Serve: on(h.Begin), Host: h.Begin},
		{Method: http.MethodPost, Path: path + "/rollback", Role: admin, Scope: auth.PoolWide, Summary: "starts the rollback of a host's last upgrade",
			In: reflect.TypeFor[upgrade.Request](), Out: status, Serve: on(h.Rollback), Host: h.Rollback},
	}
}

// appliedIndex is the index of the state on this host; false on one that has none.
func appliedIndex(local leader.LocalState) (uint64, bool) {
	if local == nil {
		return 0, false
	}
	view, err := local.StaleView()
	if err != nil {
		return 0, false
	}
	return view.Index(), true
}
