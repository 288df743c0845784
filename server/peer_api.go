package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
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
type peerAPI struct{ m *Member }

// serveListener answers on one of the port's listeners until the member ends.
func (a peerAPI) serveListener(clients string, l net.Listener, h http.Handler) {
	a.m.loops.Go(func() {
		if err := peer.Serve(a.m.ctx, l, h, a.m.log); err != nil && a.m.ctx.Err() == nil {
			a.m.fail(fmt.Errorf("serving %s: %w", clients, err))
		}
		l.Close()
	})
}

// HandleAPI sets the handler for API requests that other hosts forward; their paths begin with /api/.
func (m *Member) HandleAPI(h http.Handler) { m.handlers.api.Store(&h) }

// peerHandler serves the hosts of the pool. Any host may hold a session and call on its own behalf; only servers may call on
// behalf of other hosts.
func (a peerAPI) peerHandler() http.Handler {
	all := http.NewServeMux()
	all.HandleFunc(pathAPI, a.serveAPI)
	all.HandleFunc("GET "+pathBlobs+"{digest}", serveBlobs(a))
	calls := new(rpc.Limit)
	for path, handle := range a.routes() {
		all.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			from, ok := a.authenticated(w, r)
			switch {
			case !ok:
			case path == dispatch.PathSession || a.isServer(from): // sessions have limits of their own
				handle(w, r, from)
			default:
				calls.Handle(w, "host "+from, func() { handle(w, r, from) })
			}
		})
	}
	return all
}

// routes is the table of the calls between hosts, without the API.
func (a peerAPI) routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{
		dispatch.PathSession:    a.m.dispatcher.ServeSession,
		membership.PathStats:    rpc.JSON(a.handleStats),
		admission.PathKeyring:   a.requireServer(rpc.ServerJSON(a.handleKeyring)),
		dispatch.PathRegister:   a.requireServer(rpc.ServerJSON(a.handleRegister)),
		dispatch.PathReports:    a.requireServer(dispatch.ReportsHandler(a.leadingBackend)),
		dispatch.PathMetrics:    a.requireServer(dispatch.MetricsHandler(a.leadingBackend)),
		dispatch.PathLease:      a.requireServer(dispatch.LeaseHandler(a.leadingBackend)),
		liveness.PathHeartbeats: a.requireServer(rpc.ServerJSON(a.handleHeartbeats)),
		pathPrefetch:            a.requireServer(rpc.ServerJSON(prefetchHandler(a.m))),
		history.PathRead:        a.requireServer(rpc.ServerJSON(a.handleHistory)),
		membership.PathRole:     rpc.JSON(a.handleRole),
		membership.PathPoolInfo: rpc.JSON(a.handlePoolInfo),
		pathRenew:               rpc.JSON(a.handleRenew),
		pathAdmit:               rpc.JSON(a.handleAdmit),
		pathHostKey:             rpc.JSON(a.handleHostKey),
		pathRoot:                rpc.JSON(a.handleRoot),
		pathACME:                rpc.JSON(a.handleACME),
		pathSecrets:             rpc.JSON(secretsHandler(a.m)),
		pathProtection:          rpc.JSON(protectionHandler(a.m)),
		pathCredentials:         rpc.JSON(credentialsHandler(a.m)),
		pathBlobRequest:         rpc.SizedJSON(maxBlobRequest, blobRequestHandler(a.m)),
	}
}

// authenticated returns the id of the calling host; it refuses a host that was removed after it connected.
func (a peerAPI) authenticated(w http.ResponseWriter, r *http.Request) (hostID string, ok bool) {
	from := peer.HostID(r.Context())
	if from == "" || !a.isMemberHost(from) {
		a.refuse(w, r, from, spec.Removed(from))
		return "", false
	}
	return from, true
}

// refuse answers a call that the host may not make.
func (a peerAPI) refuse(w http.ResponseWriter, r *http.Request, from string, err error) {
	a.m.cfg.Port.ReportRefusal(peer.Refusal{Operation: peer.OpCall, HostID: from, Address: r.RemoteAddr, Reason: err})
	rpc.WriteError(w, err)
}

func (a peerAPI) serveAPI(w http.ResponseWriter, r *http.Request) {
	from, ok := a.authenticated(w, r)
	if !ok {
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), apiCallerKey{}, apiCaller{from, a.isServer(from)}))
	if api := a.m.handlers.api.Load(); api != nil {
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

// isServer reports whether a host is one of the pool's servers: as this server has it, or as one last told this agent.
func (a peerAPI) isServer(hostID string) bool {
	if own := a.m.localServer(); own != nil {
		return own.servers.IsServer(hostID)
	}
	return a.m.poolCache.IsServer(hostID)
}

// requireServer refuses calls from hosts that are not servers.
func (a peerAPI) requireServer(handle rpc.HandlerFunc) rpc.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		if own := a.m.localServer(); own != nil && !own.servers.IsServer(from) {
			a.refuse(w, r, from, fmt.Errorf("host %s is no server of the pool, and may not call %s", from, r.URL.Path))
			return
		}
		handle(w, r, from)
	}
}

// leadingServer is this host's server while it leads.
func (m *Member) leadingServer() (*Server, error) {
	own := m.localServer()
	if own == nil {
		return nil, fmt.Errorf("%w; this host is an agent", spec.ErrNotLeader)
	}
	_, err := own.node.RequireLeader()
	return own, err
}

func (a peerAPI) handleStats(context.Context, string, struct{}) (membership.RaftStats, error) {
	if own := a.m.localServer(); own != nil {
		return own.servers.Stats(), nil
	}
	return membership.RaftStats{}, nil
}

func (a peerAPI) handleRegister(ctx context.Context, _ string, r dispatch.Registration) (dispatch.RegistrationReply, error) {
	backend, err := a.leadingBackend()
	if err != nil {
		return dispatch.RegistrationReply{}, err
	}
	return backend.Register(ctx, r)
}

func (a peerAPI) leadingBackend() (*dispatch.Backend, error) {
	own, err := a.m.leadingServer()
	if err != nil {
		return nil, err
	}
	return own.agents, nil
}

func (a peerAPI) handleHeartbeats(_ context.Context, _ string, b liveness.Batch) (liveness.Reply, error) {
	own, err := a.m.leadingServer()
	if err != nil {
		return liveness.Reply{}, err
	}
	return own.liveness.Receive(b), nil
}

func (a peerAPI) handleRole(ctx context.Context, from string, _ struct{}) (membership.RoleReply, error) {
	own, err := a.m.leadingServer()
	if err != nil {
		return membership.RoleReply{}, err
	}
	return own.servers.ConfirmRole(ctx, from)
}

// Leadership returns the access to the pool's leader.
func (m *Member) Leadership() Leadership { return Leadership{m} }

// Leadership finds the pool's leader and calls it.
type Leadership struct{ m *Member }

// callLeader calls the leader: local when this host leads, the path of the leader otherwise. The call must be safe to repeat.
func (l Leadership) callLeader(ctx context.Context, path string, in, out any, local func(*Server) error) error {
	return l.CallLeader(ctx, func(ctx context.Context, address string, self bool) (again bool, err error) {
		if own := l.m.localServer(); self && own != nil {
			err = local(own)
		} else {
			err = l.m.peers.Call(ctx, address, path, in, out)
		}
		return rpc.Repeatable(err), err
	})
}

// Leader is the address of the pool's leader, and whether that is this host. During an election it waits for the outcome,
// at most 5 s or as long as ctx lasts; then the error wraps spec.ErrUnavailable.
func (l Leadership) Leader(ctx context.Context) (address string, self bool, err error) {
	ctx, cancel := l.whileOpen(ctx)
	defer cancel()
	return l.m.leader.Await(ctx)
}

// CallLeader has the leader do something: see rpc.LeaderTracker.Call. It is the one retry policy for calls to the leader.
func (l Leadership) CallLeader(ctx context.Context, try func(ctx context.Context, address string, self bool) (again bool, err error)) error {
	ctx, cancel := l.whileOpen(ctx)
	defer cancel()
	return l.m.leader.Call(ctx, try)
}

// SignatureUsed is consensus.Node's: whether the log has a change by a request with this signature, which an earlier leader may have
// carried out.
func (l Leadership) SignatureUsed(signature spec.Signature, signedAt time.Time) bool {
	own := l.m.localServer()
	return own != nil && own.node.SignatureUsed(signature, signedAt)
}

// whileOpen is ctx until Close, which ends it with spec.ErrClosed.
func (l Leadership) whileOpen(ctx context.Context) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.m.ctx, func() { end(spec.ErrClosed) })
	return ctx, func() {
		stop()
		end(nil)
	}
}

// knownLeader is the leader as this host knows it: from its own server, or from the server that it has a session with.
func (l Leadership) knownLeader() (address string, self bool) {
	if own := l.m.localServer(); own != nil {
		if address, self = own.Leader(); address != "" {
			return address, self
		}
	}
	if address = l.m.poolCache.PoolInfo().Leader; address == l.m.cfg.Address {
		return "", false // the session may still name the leader that this server has lost
	}
	return address, false
}

// Forwarder reaches the API of other hosts (see HandleAPI) at https://host:port/api/... It cancels an unanswered request to
// the leader when the leader changes, because the old leader may be partitioned.
func (m *Member) Forwarder() http.RoundTripper { return &forwarder{m} }

// forwarder sends requests to other hosts, and cancels those whose leader was replaced.
type forwarder struct{ m *Member }

// RoundTrip sends the request as it is. It may carry the secret of its caller, so none but a server gets it; only servers ask agents,
// for what they have authorized.
func (f *forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, release := f.m.leader.While(r.Context(), r.URL.Host)
	defer release()
	client := f.m.client
	if known := f.m.poolCache.PoolInfo(); f.m.localServer() != nil && r.URL.Host != known.Leader && !slices.Contains(known.Servers, r.URL.Host) {
		client = f.m.anyHost
	}
	answer, err := client.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil && errors.Is(context.Cause(ctx), rpc.ErrLeaderChanged) {
		err = rpc.ErrLeaderChanged
	}
	return answer, err
}
