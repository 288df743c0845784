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
	pathSession = "/peer/session"
	pathStats   = "/peer/stats"
	pathSeals   = "/peer/seals"

	leaderPaths = "/peer/leader/"
	pathEnter   = leaderPaths + "enter"
	pathReport  = leaderPaths + "report"
	pathBeats   = leaderPaths + "beats"
	pathRole    = leaderPaths + "role"
	pathRenew   = leaderPaths + "renew"
	pathAdmit   = leaderPaths + "admit"
	pathKey     = leaderPaths + "key"

	pathJoin = "/join"
	apiPaths = "/api/"
)

// serve answers on one of the port's listeners until the member ends.
func (m *Member) serve(whom string, l net.Listener, h http.Handler) {
	m.loops.Go(func() {
		if err := peer.Serve(m.ctx, l, h, m.log); err != nil && m.ctx.Err() == nil {
			m.fail(fmt.Errorf("serving %s: %w", whom, err))
		}
		l.Close()
	})
}

// HandleAPI sets who answers what other hosts pass on of the API; its paths begin with /api/.
func (m *Member) HandleAPI(h http.Handler) { m.api.Store(&h) }

// peerHandler answers hosts of the pool. Each of them may hold a session and ask for itself; what concerns other hosts
// only servers may say.
func (m *Member) peerHandler() http.Handler {
	all := http.NewServeMux()
	all.HandleFunc(apiPaths, m.passAPI)
	for path, handle := range m.peerCalls() {
		all.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			if from, ok := m.entrant(w, r); ok {
				handle(w, r, from)
			}
		})
	}
	return all
}

// peerCalls is the table of what hosts may ask, but for the API.
func (m *Member) peerCalls() map[string]callHandler {
	return map[string]callHandler{
		pathSession: m.serveSession,
		pathStats:   answering(m.answerStats),
		pathSeals:   m.ofServers(answering(m.answerSeals)),
		pathEnter:   m.ofServers(answering(m.answerEnter)),
		pathReport:  m.ofServers(answering(m.answerReport)),
		pathBeats:   m.ofServers(answering(m.answerBeats)),
		pathRole:    answering(m.answerRole),
		pathRenew:   answering(m.answerRenew),
		pathAdmit:   answering(m.answerAdmit),
		pathKey:     answering(m.answerKey),
	}
}

// entrant is the host that calls; one that was removed after it connected is refused here.
func (m *Member) entrant(w http.ResponseWriter, r *http.Request) (hostID string, ok bool) {
	from := peer.HostID(r.Context())
	if from == "" || !m.admits(from) {
		refuse(w, r, from, fmt.Errorf("host %s: %w", from, spec.ErrRemoved))
		return "", false
	}
	return from, true
}

func refuse(w http.ResponseWriter, r *http.Request, from string, err error) {
	answering(func(context.Context, string, any) (any, error) { return nil, err })(w, r, from)
}

func (m *Member) passAPI(w http.ResponseWriter, r *http.Request) {
	if _, ok := m.entrant(w, r); !ok {
		return
	}
	if api := m.api.Load(); api != nil {
		(*api).ServeHTTP(w, r)
		return
	}
	http.Error(w, "this host is starting", http.StatusServiceUnavailable)
}

// ofServers refuses calls of hosts that are no servers.
func (m *Member) ofServers(handle callHandler) callHandler {
	return func(w http.ResponseWriter, r *http.Request, from string) {
		if own := m.own(); own != nil && !own.isServer(from) {
			refuse(w, r, from, fmt.Errorf("host %s is no server of the pool", from))
			return
		}
		handle(w, r, from)
	}
}

// leads is this host's server while it leads.
func (m *Member) leads() (*Server, *term, error) {
	own := m.own()
	if own == nil {
		return nil, nil, fmt.Errorf("%w; this host is an agent", ErrNotLeader)
	}
	t, err := own.leading()
	return own, t, err
}

func (m *Member) answerStats(context.Context, string, struct{}) (raftStats, error) {
	if own := m.own(); own != nil {
		return own.stats(), nil
	}
	return raftStats{}, nil
}

func (m *Member) answerEnter(ctx context.Context, _ string, e entering) (entered, error) {
	own, t, err := m.leads()
	if err != nil {
		return entered{}, err
	}
	return own.enter(ctx, t, e)
}

func (m *Member) answerReport(_ context.Context, _ string, batch []news) ([]heard, error) {
	own, _, err := m.leads()
	if err != nil {
		return nil, err
	}
	return own.hear(batch), nil
}

func (m *Member) answerBeats(_ context.Context, _ string, a alive) (strange, error) {
	own, _, err := m.leads()
	if err != nil {
		return strange{}, err
	}
	return own.hearBeats(a)
}

func (m *Member) answerRole(ctx context.Context, from string, _ struct{}) (roleOf, error) {
	own, _, err := m.leads()
	if err != nil {
		return roleOf{}, err
	}
	return own.roleOf(ctx, from)
}

// ask has the leader answer: here when this host leads, at path of another host otherwise. It must be harmless to repeat.
func (m *Member) ask(ctx context.Context, path string, in, out any, here func(*Server) error) error {
	ctx, cancel := context.WithTimeout(ctx, leaderPatience)
	defer cancel()
	for {
		address, self, err := m.Leader(ctx)
		switch {
		case err != nil:
		case self:
			if own := m.own(); own != nil {
				err = here(own)
			}
		default:
			err = m.calls.post(ctx, address, path, in, out)
		}
		if !errors.Is(err, spec.ErrUnavailable) || errors.Is(err, ErrReadOnly) {
			return err
		}
		select {
		case <-time.After(leaderPause):
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
	ctx, cancel := context.WithTimeout(ctx, leaderPatience)
	defer cancel()
	tick := time.NewTicker(leaderLook)
	defer tick.Stop()
	for {
		if own := m.own(); own != nil {
			if address, self = own.Leader(); address != "" {
				return address, self, nil
			}
		}
		if address = m.book.outlook().Leader; address != "" && address != m.cfg.Address {
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

// leaderLook is how often Leader looks again while there is none.
const leaderLook = 10 * time.Millisecond

// Forwarder reaches the API of other hosts (see HandleAPI) at https://host:port/api/... A request to the leader that has
// no answer yet when another host leads is given up: the one that was asked may be cut off.
func (m *Member) Forwarder() http.RoundTripper { return forwarder{m} }

type forwarder struct{ *Member }

// RoundTrip sends the request as it is.
func (f forwarder) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, answered := whileLeads(r.Context(), r.URL.Host, f.knownLeader)
	defer answered()
	answer, err := f.client.Transport.RoundTrip(r.WithContext(ctx))
	if err != nil && context.Cause(ctx) == errSucceeded {
		err = errSucceeded
	}
	return answer, err
}

// knownLeader is the address of the leader as far as this host knows, empty while it knows of none.
func (m *Member) knownLeader() string {
	if own := m.own(); own != nil {
		address, _ := own.Leader()
		return address
	}
	return m.book.outlook().Leader
}
