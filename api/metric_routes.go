package api

import (
	"net/http"
	"reflect"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/metrics"
	"pinion/api/rest"
	"pinion/raftfsm/accesskey"
)

// metricRoutes are those that Prometheus reads. Metrics of hosts are authorized by the copy of the state of whichever server is asked, so that they
// are there while the pool has no leader.
func metricRoutes(config Config, peers *httpx.Peers) []rest.Route {
	h := metrics.New(metrics.Config{
		Registry: config.Shared.Metrics, HostID: config.HostID, Peers: peers, Healthy: func(hostID string) bool { return config.Store.Connected(hostID) }, Limits: config.Shared.limits,
	})
	return []rest.Route{
		{Method: http.MethodGet, Path: "/metrics", Role: accesskey.RoleRead, Scope: auth.PerResource, Summary: "metrics of this host in the text format of Prometheus", Mode: leader.LocalFirst, Serve: h.Asked},
		{Method: http.MethodGet, Path: "/metrics/pool", Role: accesskey.RoleRead, Scope: auth.PerResource, Summary: "metrics of the pool in the text format of Prometheus", Serve: h.Pool},
		{Method: http.MethodGet, Path: "/v1/hosts/{id}/metrics", Role: accesskey.RoleRead, Scope: auth.PerResource, Summary: "metrics of a host in the text format of Prometheus", Mode: leader.LocalFirst, Serve: h.Named, Host: h.Here},
		{Method: http.MethodGet, Path: "/v1/metrics/targets", Role: accesskey.RoleRead, Scope: auth.PerResource, Summary: "where the metrics of the pool and its hosts are, for Prometheus' HTTP service discovery",
			Out: reflect.TypeFor[[]metrics.Target](), Serve: h.Targets},
	}
}
