package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/peer"
	"pinion/server/rpc"
)

// What hosts ask each other, by path. Calls under leaderPaths are answered by the leader alone.
const (
	pathLeader       = "/peer/leader/"
	pathRenew        = pathLeader + "renew"
	pathAdmit        = pathLeader + "admit"
	pathBootstrapKey = pathLeader + "key"

	pathAPI = "/api/"
)

// serveListener answers on one of the port's listeners until the member ends.
func (m *Member) serveListener(clients string, l net.Listener, h http.Handler) {
	m.loops.Go(func() {
		if err := peer.Serve(m.ctx, l, h, m.log); err != nil && m.ctx.Err() == nil {
			m.fail(fmt.Errorf("serving %s: %w", clients, err))
		}
		l.Close()
	})
}

// HandleAPI sets who answers what other hosts pass on of the API; its paths begin with /api/.
func (m *Member) HandleAPI(h http.Handler) { m.apiHandler.Store(&h) }

// peerHandler answers hosts of the pool. Each of them may hold a session and ask for itself; what concerns other hosts
// only servers may say.
func (m *Member) peerHandler() http.Handler {
	all := http.NewServeMux()
	all.HandleFunc(pathAPI, m.serveAPI)
	for path, handle := range m.routes() {
		all.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			if from, ok := m.authenticated(w, r); ok {
				handle(w, r, from)
			}
		})
	}
	return all
}

// routes is the table of what hosts may ask, but for the API.
func (m *Member) routes() map[string]rpc.HandlerFunc {
	return map[string]rpc.HandlerFunc{
		dispatch.PathSession:    m.dispatcher.ServeSession,
		membership.PathStats:    rpc.JSON(m.handleStats),
		admission.PathKeyring:   m.requireServer(rpc.JSON(m.handleKeyring)),
		dispatch.PathRegister:   m.requireServer(rpc.JSON(m.handleRegister)),
		dispatch.PathReports:    m.requireServer(dispatch.ReportsHandler(m.leadingBackend)),
		liveness.PathHeartbeats: m.requireServer(rpc.JSON(m.handleHeartbeats)),
		membership.PathRole:     rpc.JSON(m.handleRole),
		pathRenew:               rpc.JSON(m.handleRenew),
		pathAdmit:               rpc.JSON(m.handleAdmit),
		pathBootstrapKey:        rpc.JSON(m.handleBootstrapKey),
	}
}

// authenticated is the host that calls; one that was removed after it connected is refused here.
func (m *Member) authenticated(w http.ResponseWriter, r *http.Request) (hostID string, ok bool) {
	from := peer.HostID(r.Context())
	if from == "" || !m.isMemberHost(from) {
		writeError(w, r, from, fmt.Errorf("host %s: %w", from, spec.ErrRemoved))
		return "", false
	}
	return from, true
}

func writeError(w http.ResponseWriter, r *http.Request, from string, err error) {
	rpc.WriteError(w, err)
}

func (m *Member) serveAPI(w http.ResponseWriter, r *http.Request) {
	if _, ok := m.authenticated(w, r); !ok {
		return
	}
	if api := m.apiHandler.Load(); api != nil {
		(*api).ServeHTTP(w, r)
		return
	}
	http.Error(w, "this host is starting", http.StatusServiceUnavailable)
}

// requireServer refuses calls of hosts that are no servers.
func (m *Member) requireServer(handle rpc.HandlerFunc) rpc.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		if own := m.localServer(); own != nil && !own.servers.IsServer(from) {
			writeError(w, r, from, fmt.Errorf("host %s is no server of the pool", from))
			return
		}
		handle(w, r, from)
	}
}

// leadingServer is this host's server while it leads.
func (m *Member) leadingServer() (*Server, *leaderTerm, error) {
	own := m.localServer()
	if own == nil {
		return nil, nil, fmt.Errorf("%w; this host is an agent", ErrNotLeader)
	}
	t, err := own.requireLeader()
	return own, t, err
}

func (m *Member) handleStats(context.Context, string, struct{}) (membership.RaftStats, error) {
	if own := m.localServer(); own != nil {
		return own.servers.Stats(), nil
	}
	return membership.RaftStats{}, nil
}

func (m *Member) handleRegister(ctx context.Context, _ string, r dispatch.Registration) (dispatch.RegistrationReply, error) {
	backend, err := m.leadingBackend()
	if err != nil {
		return dispatch.RegistrationReply{}, err
	}
	return backend.Register(ctx, r)
}

func (m *Member) leadingBackend() (*dispatch.Backend, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return nil, err
	}
	return own.agents, nil
}

func (m *Member) handleHeartbeats(_ context.Context, _ string, b liveness.Batch) (liveness.Reply, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return liveness.Reply{}, err
	}
	return own.liveness.Receive(b), nil
}

func (m *Member) handleRole(ctx context.Context, from string, _ struct{}) (membership.RoleReply, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return membership.RoleReply{}, err
	}
	return own.servers.ConfirmRole(ctx, from)
}

// callLeader has the leader answer: local when this host leads, at path of another host otherwise. It must be harmless to
// repeat.
func (m *Member) callLeader(ctx context.Context, path string, in, out any, local func(*Server) error) error {
	return m.CallLeader(ctx, func(ctx context.Context, address string, self bool) (again bool, err error) {
		if own := m.localServer(); self && own != nil {
			err = local(own)
		} else {
			err = m.peers.Call(ctx, address, path, in, out)
		}
		return rpc.Repeatable(err), err
	})
}

// Leader is the address of the pool's leader, and whether that is this host. During an election it waits for the outcome,
// at most 5 s or as long as ctx lasts; then the error wraps spec.ErrUnavailable.
func (m *Member) Leader(ctx context.Context) (address string, self bool, err error) {
	ctx, cancel := m.whileOpen(ctx)
	defer cancel()
	return m.leader.Await(ctx)
}

// CallLeader has the leader do something: see rpc.LeaderTracker.Call. It is the one retry policy for calls to the leader.
func (m *Member) CallLeader(ctx context.Context, try func(ctx context.Context, address string, self bool) (again bool, err error)) error {
	ctx, cancel := m.whileOpen(ctx)
	defer cancel()
	return m.leader.Call(ctx, try)
}

// whileOpen is ctx until Close, which ends it with spec.ErrClosed.
func (m *Member) whileOpen(ctx context.Context) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(m.ctx, func() { end(errClosed) })
	return ctx, func() {
		stop()
		end(nil)
	}
}

// knownLeader is the leader as this host knows it: from its own server, or from the server that it has a session with.
func (m *Member) knownLeader() (address string, self bool) {
	if own := m.localServer(); own != nil {
		if address, self = own.Leader(); address != "" {
			return address, self
		}
	}
	if address = m.poolCache.PoolInfo().Leader; address == m.cfg.Address {
		return "", false // what was known before this server lost its leader
	}
	return address, false
}

// Forwarder reaches the API of other hosts (see HandleAPI) at https://host:port/api/... A request to the leader that has
// no answer yet when another host leads is given up: the one that was asked may be cut off.
func (m *Member) Forwarder() http.RoundTripper { return &forwarder{m.leader, m.client.Transport} }

// forwarder sends requests to other hosts, and gives one up whose leader was replaced.
type forwarder struct {
	leader    *rpc.LeaderTracker
	transport http.RoundTripper
}

// RoundTrip sends the request as it is.
func (f *forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, release := f.leader.While(r.Context(), r.URL.Host)
	defer release()
	answer, err := f.transport.RoundTrip(r.WithContext(ctx))
	if err != nil && errors.Is(context.Cause(ctx), rpc.ErrLeaderChanged) {
		err = rpc.ErrLeaderChanged
	}
	return answer, err
}
