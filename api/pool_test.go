package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/raftfsm/spec"
)

// followerID is the host that does not lead.
const followerID = "bbbb0000000000000000000000000002"

// fakeLeadership is a function that names the leader.
type fakeLeadership func(ctx context.Context) (address string, self bool, err error)

func (l fakeLeadership) Leader(ctx context.Context) (string, bool, error) { return l(ctx) }

// CallLeader tries for as long as the pool does, but does not wait for a leader where there is none.
func (l fakeLeadership) CallLeader(ctx context.Context, try func(ctx context.Context, address string, self bool) (again bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		address, self, err := l(ctx)
		if err != nil {
			return err
		}
		again, err := try(ctx, address, self)
		if !again {
			return err
		}
		pause, end := context.WithTimeout(ctx, 15*time.Millisecond)
		<-pause.Done()
		end()
		if ctx.Err() != nil {
			return err
		}
	}
}

func selfLeads(context.Context) (string, bool, error) { return "", true, nil }

func remoteLeads(address string) fakeLeadership {
	return func(context.Context) (string, bool, error) { return address, false, nil }
}

var errElection = fmt.Errorf("the pool has no leader now; try again: %w", spec.ErrUnavailable)

// noLeader is the error of a read then.
const noLeader = "The pool has no leader that this host can reach: more than half of its servers are away, or they are choosing one. " +
	"Try again; it goes on by itself. GET /v1/hosts?stale=true shows what this host still knows."

func noLeaderNow(context.Context) (string, bool, error) { return "", false, errElection }

// twoHosts is two hosts with listeners of their own. Only the leader has the state; the other has the agent of its tasks.
type twoHosts struct {
	leader    *fixture
	peer      *httptest.Server // of the leader, for hosts
	other     *fixture         // the other host
	follower  *httptest.Server // its public listener
	socket    *httptest.Server // its root-only socket
	otherPeer *httptest.Server // its listener for hosts
}

func newTwoHosts(t testing.TB) *twoHosts {
	p := &twoHosts{leader: newFixture(t), other: newFixture(t)}
	p.leader.config.Trusted, p.leader.config.Now = false, time.Now
	p.leader.config.Leader, p.leader.config.Admin.Logins = fakeLeadership(selfLeads), &fakeKeyStore{fakeStore: p.leader.fakeStore}
	p.other.fakeStore.viewErr = errors.New("a follower read its state")
	p.other.config.Store, p.other.config.HostID = p.other.fakeStore, followerID

	fromPeer := p.leader.config
	fromPeer.FromPeer = sentBy(followerID, true)
	p.peer = tlsServer(t, handlerFunc(func() http.Handler {
		fromPeer.Forward, fromPeer.Audit = p.leader.config.Forward, p.leader.config.Audit
		return NewHandler(fromPeer)
	}))
	p.leader.config.Forward = p.peer.Client().Transport

	c := p.other.config
	c.Now, c.Leader, c.Forward = time.Now, remoteLeads(p.peer.Listener.Addr().String()), p.peer.Client().Transport
	p.socket = httptest.NewServer(NewHandler(c))
	c.Trusted = false
	p.follower = httptest.NewServer(NewHandler(c))
	c.FromPeer = sentBy(hostID, true)
	p.otherPeer = tlsServer(t, NewHandler(c))
	t.Cleanup(p.socket.Close)
	t.Cleanup(p.follower.Close)
	return p
}

// sentBy is what the certificates say of requests of one host.
func sentBy(hostID string, server bool) func(*http.Request) httpx.Peer {
	return func(*http.Request) httpx.Peer { return httpx.Peer{HostID: hostID, Server: server} }
}

// tlsServer speaks HTTP/2, as hosts do among themselves.
func tlsServer(t testing.TB, h http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// handlerFunc makes the handler when the first request comes: its configuration names the server itself.
func handlerFunc(h func() http.Handler) http.Handler {
	handler := sync.OnceValue(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}

// fakeTransport is a way to another host's handler without a network; it counts.
type fakeTransport struct {
	handler    http.Handler
	failBefore func(n int) error // before the n-th request is sent
	count      int
}

func (h *fakeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	h.count++
	if h.failBefore != nil {
		if err := h.failBefore(h.count); err != nil {
			return nil, err
		}
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// fakeAdmin stands in for what changes hosts, with the state of a cluster. What it is asked is written down.
type fakeAdmin struct {
	*fakeStore
	calls []string
	err   error
}

func (k *fakeAdmin) RemoveHost(_ context.Context, id string, force bool) error {
	k.calls = append(k.calls, fmt.Sprintf("remove %s %v", id, force))
	for _, task := range k.state.View().TasksOn(id) {
		if task.LastStatus != spec.Stopped && !force {
			return fmt.Errorf("host %s has tasks: %w", id, spec.ErrInUse)
		}
	}
	return k.err
}

func (k *fakeAdmin) ClockOffset(string) time.Duration { return 0 }

func (k *fakeAdmin) Promote(_ context.Context, id string) error {
	k.calls = append(k.calls, "promote "+id)
	return k.err
}

func (k *fakeAdmin) Demote(_ context.Context, id string) error {
	k.calls = append(k.calls, "demote "+id)
	return k.err
}

func (k *fakeAdmin) Roles(context.Context) (map[string]string, error) {
	return map[string]string{hostID: "leader"}, nil
}

func (k *fakeAdmin) CreateJoinToken(_ context.Context, ttl time.Duration, uses int, role, _ string) (string, error) {
	k.calls = append(k.calls, fmt.Sprintf("token %s %d %s", ttl, uses, role))
	return "pinion1.ca.id.secret", k.err
}

func (k *fakeAdmin) RevokeJoinToken(_ context.Context, id string) error {
	k.calls = append(k.calls, "revoke "+id)
	return k.err
}

func (k *fakeAdmin) SaveSnapshot(_ context.Context, w io.Writer, _ bool) error {
	_, err := io.Copy(w, strings.NewReader("the whole state"))
	return errors.Join(err, k.err)
}
