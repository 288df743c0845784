package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/peer"
)

// What hosts ask each other, by path. Calls under leaderPaths are answered by the leader alone.
const (
	pathSession  = "/peer/session"
	pathStats    = "/peer/stats"
	pathSealKeys = "/peer/seals"

	pathLeader       = "/peer/leader/"
	pathRegister     = pathLeader + "enter"
	pathReport       = pathLeader + "report"
	pathHeartbeats   = pathLeader + "beats"
	pathRole         = pathLeader + "role"
	pathRenew        = pathLeader + "renew"
	pathAdmit        = pathLeader + "admit"
	pathBootstrapKey = pathLeader + "key"

	pathJoin = "/join"
	pathAPI  = "/api/"
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
func (m *Member) routes() map[string]peerHandlerFunc {
	return map[string]peerHandlerFunc{
		pathSession:      m.serveSession,
		pathStats:        jsonHandler(m.handleStats),
		pathSealKeys:     m.requireServer(jsonHandler(m.handleSealKeys)),
		pathRegister:     m.requireServer(jsonHandler(m.handleRegister)),
		pathReport:       m.requireServer(jsonHandler(m.handleReports)),
		pathHeartbeats:   m.requireServer(jsonHandler(m.handleHeartbeats)),
		pathRole:         jsonHandler(m.handleRole),
		pathRenew:        jsonHandler(m.handleRenew),
		pathAdmit:        jsonHandler(m.handleAdmit),
		pathBootstrapKey: jsonHandler(m.handleBootstrapKey),
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
	jsonHandler(func(context.Context, string, any) (any, error) { return nil, err })(w, r, from)
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
func (m *Member) requireServer(handle peerHandlerFunc) peerHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		if own := m.localServer(); own != nil && !own.isServer(from) {
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

func (m *Member) handleStats(context.Context, string, struct{}) (raftStats, error) {
	if own := m.localServer(); own != nil {
		return own.localRaftStats(), nil
	}
	return raftStats{}, nil
}

func (m *Member) handleRegister(ctx context.Context, _ string, e registration) (registrationReply, error) {
	own, t, err := m.leadingServer()
	if err != nil {
		return registrationReply{}, err
	}
	return own.register(ctx, t, e)
}

func (m *Member) handleReports(_ context.Context, _ string, batch []reportRequest) ([]reportReply, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return nil, err
	}
	return own.applyReports(batch), nil
}

func (m *Member) handleHeartbeats(_ context.Context, _ string, a heartbeatBatch) (heartbeatReply, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return heartbeatReply{}, err
	}
	return own.recordHeartbeats(a)
}

func (m *Member) handleRole(ctx context.Context, from string, _ struct{}) (roleReply, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return roleReply{}, err
	}
	return own.confirmedRole(ctx, from)
}

// callLeader has the leader answer: here when this host leads, at path of another host otherwise. It must be harmless to repeat.
func (m *Member) callLeader(ctx context.Context, path string, in, out any, local func(*Server) error) error {
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	for {
		address, self, err := m.Leader(ctx)
		switch {
		case err != nil:
		case self:
			if own := m.localServer(); own != nil {
				err = local(own)
			}
		default:
			err = m.peers.call(ctx, address, path, in, out)
		}
		if !errors.Is(err, spec.ErrUnavailable) || errors.Is(err, ErrReadOnly) {
			return err
		}
		select {
		case <-time.After(leaderBackoff):
		case <-ctx.Done():
			return err
		case <-m.ctx.Done():
			return err
		}
	}
}

// Leader is the address of the pool's leader, and whether that is this host. During an election it waits for the outcome,
// at most 5 s or as long as ctx lasts; then the error wraps raftfsm.ErrUnavailable.
func (m *Member) Leader(ctx context.Context) (address string, self bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	tick := time.NewTicker(leaderPollInterval)
	defer tick.Stop()
	for {
		if own := m.localServer(); own != nil {
			if address, self = own.Leader(); address != "" {
				return address, self, nil
			}
		}
		if address = m.poolCache.poolInfo().Leader; address != "" && address != m.cfg.Address {
			return address, false, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", false, fmt.Errorf("%w: the pool has no leader that this host can reach", ErrNotLeader)
		case <-m.ctx.Done():
			return "", false, errClosed
		}
	}
}

// leaderPollInterval is how often Leader looks again while there is none.
const leaderPollInterval = 10 * time.Millisecond

// Forwarder reaches the API of other hosts (see HandleAPI) at https://host:port/api/... A request to the leader that has
// no answer yet when another host leads is given up: the one that was asked may be cut off.
func (m *Member) Forwarder() http.RoundTripper { return forwarder{m} }

type forwarder struct{ *Member }

// RoundTrip sends the request as it is.
func (f forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, answered := withLeader(r.Context(), r.URL.Host, f.knownLeader)
	defer answered()
	answer, err := f.client.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil && context.Cause(ctx) == errLeaderChanged {
		err = errLeaderChanged
	}
	return answer, err
}

// knownLeader is the address of the leader as far as this host knows, empty while it knows of none.
func (m *Member) knownLeader() string {
	if own := m.localServer(); own != nil {
		address, _ := own.Leader()
		return address
	}
	return m.poolCache.poolInfo().Leader
}
