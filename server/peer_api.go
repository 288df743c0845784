package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/history"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/rpc"
)

// Paths of the calls between hosts. Only the leader answers the calls under leaderPaths.
const (
	pathLeader  = "/peer/leader/"
	pathRenew   = pathLeader + "renew"
	pathAdmit   = pathLeader + "admit"
	pathHostKey = pathLeader + "key"
	pathRoot    = pathLeader + "root"

	pathAPI = "/api/"
)

// peerAPI answers the calls of other hosts.
type peerAPI struct {
	auth       *peerAuthorizer
	server     *localServer
	leader     Leadership
	dispatcher *dispatch.Dispatcher
	cache      *membership.PoolCache
	port       *peer.Port
	now        func() time.Time
	log        *slog.Logger

	handlers handlers
}

// handlers are what other parts of this host answer the others with; nil until they are set.
type handlers struct {
	api      atomic.Pointer[http.Handler]
	blobs    atomic.Pointer[BlobHandler]
	prefetch atomic.Pointer[func(refs []string)]
}

// peerHandler serves the hosts of the pool. Any host may hold a session and call on its own behalf; only servers may call on
// behalf of other hosts.
func (a *peerAPI) peerHandler() http.Handler {
	all := http.NewServeMux()
	all.HandleFunc(pathAPI, a.serveAPI)
	all.HandleFunc("GET "+pathBlobs+"{digest}", serveBlobs(a))
	calls := new(rpc.Limit)
	for path, handle := range a.routes() {
		all.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			from, ok := a.authenticated(w, r)
			switch {
			case !ok:
			case path == dispatch.PathSession || a.auth.isServer(from): // sessions have limits of their own
				handle(w, r, from)
			default:
				calls.Handle(w, "host "+from, func() { handle(w, r, from) })
			}
		})
	}
	return all
}

// routes is the table of the calls between hosts, without the API.
func (a *peerAPI) routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{
		dispatch.PathSession:    a.dispatcher.ServeSession,
		membership.PathStats:    rpc.JSON(a.handleStats),
		admission.PathKeyring:   a.requireServer(rpc.ServerJSON(a.handleKeyring)),
		dispatch.PathRegister:   a.requireServer(rpc.ServerJSON(a.handleRegister)),
		dispatch.PathReports:    a.requireServer(dispatch.ReportsHandler(a.leadingBackend)),
		dispatch.PathMetrics:    a.requireServer(dispatch.MetricsHandler(a.leadingBackend)),
		dispatch.PathLease:      a.requireServer(dispatch.LeaseHandler(a.leadingBackend)),
		liveness.PathHeartbeats: a.requireServer(rpc.ServerJSON(a.handleHeartbeats)),
		pathPrefetch:            a.requireServer(rpc.ServerJSON(prefetchHandler(a))),
		history.PathRead:        a.requireServer(rpc.ServerJSON(a.handleHistory)),
		membership.PathRole:     rpc.JSON(a.handleRole),
		membership.PathPoolInfo: rpc.JSON(a.handlePoolInfo),
		pathRenew:               rpc.JSON(a.handleRenew),
		pathAdmit:               rpc.JSON(a.handleAdmit),
		pathHostKey:             rpc.JSON(a.handleHostKey),
		pathRoot:                rpc.JSON(a.handleRoot),
		pathACME:                rpc.JSON(a.handleACME),
		pathSecrets:             rpc.JSON(secretsHandler(a)),
		pathProtection:          rpc.JSON(protectionHandler(a)),
		pathCredentials:         rpc.JSON(credentialsHandler(a)),
		pathHostTags:            rpc.JSON(hostTagsHandler(a)),
		pathBlobRequest:         rpc.SizedJSON(maxBlobRequest, blobRequestHandler(a)),
	}
}

// authenticated returns the id of the calling host; it refuses a host that was removed after it connected.
func (a *peerAPI) authenticated(w http.ResponseWriter, r *http.Request) (hostID string, ok bool) {
	from := peer.HostID(r.Context())
	if from == "" || !a.auth.isMemberHost(from) {
		a.refuse(w, r, from, spec.Removed(from))
		return "", false
	}
	return from, true
}

// refuse answers a call that the host may not make.
func (a *peerAPI) refuse(w http.ResponseWriter, r *http.Request, from string, err error) {
	a.port.ReportRefusal(peer.Refusal{Operation: peer.OpCall, HostID: from, Address: r.RemoteAddr, Reason: err})
	rpc.WriteError(w, err)
}

func (a *peerAPI) serveAPI(w http.ResponseWriter, r *http.Request) {
	from, ok := a.authenticated(w, r)
	if !ok {
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), apiCallerKey{}, apiCaller{from, a.auth.isServer(from)}))
	if api := a.handlers.api.Load(); api != nil {
		(*api).ServeHTTP(w, r)
		return
	}
	http.Error(w, "this host is starting", http.StatusServiceUnavailable)
}

// apiCaller is the host that made a request to the API of this one.
type apiCaller struct {
	hostID   string
	isServer bool
}

type apiCallerKey struct{}

// Caller is the host that made a request which the handler of HandleAPI got, as its certificate says, and whether it is one of the
// pool's servers.
func Caller(ctx context.Context) (hostID string, isServer bool) {
	c, _ := ctx.Value(apiCallerKey{}).(apiCaller)
	return c.hostID, c.isServer
}

// requireServer refuses calls from hosts that are not servers, before it reads what they send. An agent asks what a server last told it.
func (a *peerAPI) requireServer(handle rpc.HandlerFunc) rpc.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		if !a.auth.isServer(from) {
			a.refuse(w, r, from, fmt.Errorf("host %s is no server of the pool, and may not call %s", from, r.URL.Path))
			return
		}
		handle(w, r, from)
	}
}

func (a *peerAPI) handleStats(context.Context, string, struct{}) (membership.RaftStats, error) {
	if own := a.server.Load(); own != nil {
		return own.servers.Stats(), nil
	}
	return membership.RaftStats{}, nil
}

func (a *peerAPI) handleRegister(ctx context.Context, _ string, r dispatch.Registration) (dispatch.RegistrationReply, error) {
	backend, err := a.leadingBackend()
	if err != nil {
		return dispatch.RegistrationReply{}, err
	}
	return backend.Register(ctx, r)
}

func (a *peerAPI) leadingBackend() (*dispatch.Backend, error) {
	own, err := a.server.leading()
	if err != nil {
		return nil, err
	}
	return own.agents, nil
}

func (a *peerAPI) handleHeartbeats(_ context.Context, _ string, b liveness.Batch) (liveness.Reply, error) {
	own, err := a.server.leading()
	if err != nil {
		return liveness.Reply{}, err
	}
	return own.liveness.Receive(b), nil
}

func (a *peerAPI) handleRole(ctx context.Context, from string, _ struct{}) (membership.RoleReply, error) {
	own, err := a.server.leading()
	if err != nil {
		return membership.RoleReply{}, err
	}
	return own.servers.ConfirmRole(ctx, from)
}

// handlePoolInfo tells another host what this one knows of the pool.
func (a *peerAPI) handlePoolInfo(context.Context, string, struct{}) (spec.PoolInfo, error) {
	return a.cache.PoolInfo(), nil
}

// removalOf tells whether a host was removed; a server signs that.
func (a *peerAPI) removalOf(hostID string) admission.RemovalStatus {
	status := admission.RemovalStatus{HostID: hostID, Removed: !a.auth.isMemberHost(hostID)}
	if own := a.server.Load(); own != nil && status.Removed {
		signature, err := own.signWithCA(admission.RemovalText(hostID))
		if err != nil {
			a.log.Debug("the removal of a host cannot be signed here", "id", hostID, "error", err)
		}
		status.Signature, status.CA = signature, a.cache.PoolInfo().CA
	}
	return status
}
