package api

import (
	"cmp"
	"net/http"
	"reflect"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/rest"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// progressRoute is the route of what ECS does not tell of a rollout, for those who watch it.
func progressRoute(rollouts Rollouts) rest.Route {
	return rest.Route{
		Method: http.MethodGet, Path: "/v1/services/progress", Role: accesskey.RoleRead, Scope: auth.InCluster("cluster"),
		Summary: "how many tasks of each deployment of a service are healthy, and which part of the requests goes to them",
		Query:   []rest.Parameter{{Name: "cluster", Summary: "of the service, by name; absent: default"}, {Name: "service", Summary: "its name"}},
		Out:     reflect.TypeFor[service.Progress](),
		List:    true, // it looks at every task of the service, once a second for each who watches
		Serve:   func(x *httpx.Exchange, res leader.Resolution) error { return showProgress(x, res, rollouts) },
	}
}

func showProgress(x *httpx.Exchange, res leader.Resolution, rollouts Rollouts) error {
	cluster, err := res.Principal.ClusterOf(x.Request)
	if err != nil {
		return err
	}
	s := res.View.Service(cmp.Or(cluster, spec.DefaultCluster), x.Request.URL.Query().Get("service"))
	if s == nil || s.IsDaemon() || !res.Principal.SeesService(s) {
		return wire.Errorf("ServiceNotFoundException", "Service not found.")
	}
	if rollouts == nil {
		return wire.Errorf(wire.Client, "pinion: services are not watched here: this pinion serves one host that is not part of a pool.")
	}
	progress, err := rollouts.ServiceProgress(res.View, s)
	if err != nil {
		return err
	}
	x.Reply(http.StatusOK, progress)
	return nil
}
