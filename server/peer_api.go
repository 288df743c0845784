package server

import (
	"maps"
	"net/http"

	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/history"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/prefetch"
	"pinion/server/rpc"
	"pinion/server/tracker"
)

// pathAPI is the path at which other hosts forward requests to the API.
const pathAPI = "/api/"

// peerAPI answers the calls of other hosts.
type peerAPI struct {
	router     *rpc.HostRouter
	server     *localServer
	dispatcher *dispatch.Dispatcher
	cache      *membership.PoolCache
	ended      history.Local
	agent      AgentBackend
}

// handler serves the hosts of the pool. Any host may hold a session and call on its own behalf; only servers may call on
// behalf of other hosts.
func (a *peerAPI) handler() http.Handler {
	all := http.NewServeMux()
	all.HandleFunc(pathAPI, a.router.Members(a.router.ServeAPI))
	all.HandleFunc("GET "+tracker.PathBlobs+"{digest}", a.router.Members(a.agent.Blobs.ServeBlob))
	for path, handle := range a.routes() {
		if path == dispatch.PathSession { // sessions have limits of their own
			all.HandleFunc("POST "+path, a.router.Members(handle))
			continue
		}
		all.HandleFunc("POST "+path, a.router.Limited(handle))
	}
	return all
}

// routes is the table of the calls between hosts, without the API.
func (a *peerAPI) routes() map[string]rpc.HandlerFunc {
	all := map[string]rpc.HandlerFunc{
		dispatch.PathSession:    a.dispatcher.ServeSession,
		membership.PathStats:    membership.StatsHandler(a.server.servers),
		membership.PathRole:     membership.RoleHandler(leading(a.server, func(s *Server) *membership.Servers { return s.servers })),
		membership.PathPoolInfo: a.cache.Handler(),
	}
	backend := leading(a.server, func(s *Server) *dispatch.Backend { return s.agents })
	for path, handle := range map[string]rpc.HandlerFunc{
		admission.PathKeyring:   admission.KeyringHandler(local(a.server, func(s *Server) *admission.AccessKeys { return s.accessKeys })),
		dispatch.PathRegister:   dispatch.RegisterHandler(backend),
		dispatch.PathReports:    dispatch.ReportsHandler(backend),
		dispatch.PathMetrics:    dispatch.MetricsHandler(backend),
		dispatch.PathLease:      dispatch.LeaseHandler(backend),
		liveness.PathHeartbeats: liveness.HeartbeatsHandler(leading(a.server, func(s *Server) *liveness.Monitor { return s.liveness })),
		prefetch.Path:           a.agent.Prefetch.Handler(),
		history.PathRead:        a.ended.Handler(),
	} {
		all[path] = a.router.Servers(handle)
	}
	for _, part := range []interface {
		Routes() map[string]rpc.HandlerFunc
	}{a.agent.Admission, a.agent.TaskSecrets, a.agent.Protection, a.agent.HostTags, a.agent.ACME, a.agent.Blobs} {
		maps.Copy(all, part.Routes())
	}
	return all
}
