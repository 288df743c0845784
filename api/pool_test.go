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

	"pinion/raftfsm/spec"
)

// followerID is the host that does not lead.
const followerID = "bbbb0000000000000000000000000002"

// leads says who leads, as a test wants it.
type leads func(ctx context.Context) (address string, self bool, err error)

func (l leads) Leader(ctx context.Context) (string, bool, error) { return l(ctx) }

func itself(context.Context) (string, bool, error) { return "", true, nil }

func always(address string) leads {
	return func(context.Context) (string, bool, error) { return address, false, nil }
}

var errElection = fmt.Errorf("the pool has no leader now; try again: %w", spec.ErrUnavailable)

// noLeader is what whoever only reads is told then.
const noLeader = "The pool has no leader that this host can reach: more than half of its servers are away, or they are choosing one. " +
	"Try again; it goes on by itself. GET /v1/hosts?stale=true shows what this host still knows."

func nobody(context.Context) (string, bool, error) { return "", false, errElection }

// pool is two hosts with doors of their own. Only the leader has the state; the other has the agent of its tasks.
type pool struct {
	leader   *bench
	peer     *httptest.Server // of the leader, for hosts
	away     *bench           // the other host
	follower *httptest.Server // its door for everyone
	socket   *httptest.Server // its door for root
	awayPeer *httptest.Server // its door for hosts
}

func newPool(t testing.TB) *pool {
	p := &pool{leader: newBench(t), away: newBench(t)}
	p.leader.config.Trusted, p.leader.config.Now = false, time.Now
	p.leader.config.Leader = leads(itself)
	p.away.cluster.unreachable = errors.New("a follower looked at its state")
	p.away.config.Cluster, p.away.config.HostID = p.away.cluster, followerID

	fromPeer := p.leader.config
	fromPeer.FromPeer = true
	p.peer = tlsServer(t, handlerFunc(func() http.Handler { fromPeer.Forward = p.leader.config.Forward; return NewHandler(fromPeer) }))
	p.leader.config.Forward = p.peer.Client().Transport

	c := p.away.config
	c.Now, c.Leader, c.Forward = time.Now, always(p.peer.Listener.Addr().String()), p.peer.Client().Transport
	p.socket = httptest.NewServer(NewHandler(c))
	c.Trusted = false
	p.follower = httptest.NewServer(NewHandler(c))
	c.FromPeer = true
	p.awayPeer = tlsServer(t, NewHandler(c))
	t.Cleanup(p.socket.Close)
	t.Cleanup(p.follower.Close)
	return p
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

// hops is a way to another host's handler without a network; it counts.
type hops struct {
	to    http.Handler
	fail  func(n int) error // before the n-th request is sent
	count int
}

func (h *hops) RoundTrip(r *http.Request) (*http.Response, error) {
	h.count++
	if h.fail != nil {
		if err := h.fail(h.count); err != nil {
			return nil, err
		}
	}
	w := httptest.NewRecorder()
	h.to.ServeHTTP(w, r)
	return w.Result(), nil
}

// keeper stands in for what changes hosts, with the state of a cluster. What it is asked is written down.
type keeper struct {
	*cluster
	asked []string
	err   error
}

func (k *keeper) RemoveHost(_ context.Context, id string, force bool) error {
	k.asked = append(k.asked, fmt.Sprintf("remove %s %v", id, force))
	for _, task := range k.state.View().TasksOn(id) {
		if task.LastStatus != spec.Stopped && !force {
			return fmt.Errorf("host %s has tasks: %w", id, spec.ErrInUse)
		}
	}
	return k.err
}

func (k *keeper) Promote(_ context.Context, id string) error {
	k.asked = append(k.asked, "promote "+id)
	return k.err
}

func (k *keeper) Demote(_ context.Context, id string) error {
	k.asked = append(k.asked, "demote "+id)
	return k.err
}

func (k *keeper) Roles(context.Context) (map[string]string, error) {
	return map[string]string{hostID: "leader"}, nil
}

func (k *keeper) CreateToken(_ context.Context, ttl time.Duration, uses int, role string) (string, error) {
	k.asked = append(k.asked, fmt.Sprintf("token %s %d %s", ttl, uses, role))
	return "pinion1.ca.id.secret", k.err
}

func (k *keeper) RevokeToken(_ context.Context, id string) error {
	k.asked = append(k.asked, "revoke "+id)
	return k.err
}

func (k *keeper) SaveSnapshot(_ context.Context, w io.Writer) error {
	_, err := io.Copy(w, strings.NewReader("the whole state"))
	return errors.Join(err, k.err)
}
