package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pinion/api/httpx"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// followed is a leader with room for 64 requests, 8 of an address, whose task's log never ends, and with two keys that may read it.
func followed(t *testing.T) (b *fixture, one, other string) {
	b = newLogFixture(t, func(ctx context.Context, _ spec.LogQuery, _ func(spec.LogLine) error) error {
		<-ctx.Done()
		return ctx.Err()
	})
	b.config.Shared = NewShared()
	limits := b.config.Shared.limits
	limits.Open.Size, limits.Open.PerAddress, limits.Open.ForRoot = 64, 8, 2
	limits.Streams = httpx.HostSemaphore{Size: 32, PerHost: 4}
	return b, b.withKey(t, accesskey.Key{ID: "AKIAONE", Role: accesskey.RoleRead}), b.withKey(t, accesskey.Key{ID: "AKIAOTHER", Role: accesskey.RoleRead})
}

// forwardedBy is the handler of a leader for a host, which forwards the requests of clients.
func (b *fixture) forwardedBy(host httpx.Peer, address string) func(r *http.Request, client, bearer string) reply {
	config := b.config
	config.FromPeer, config.Leader = func(*http.Request) httpx.Peer { return host }, fakeLeadership(selfLeads)
	handler := NewHandler(config)
	return func(r *http.Request, client, bearer string) reply {
		r.RemoteAddr = address
		r.Header.Set("Authorization", bearer)
		r.Header.Set(httpx.HeaderForwarded, host.HostID)
		r.Header.Set(httpx.HeaderClient, client)
		w := httptest.NewRecorder()
		serveHTTP(handler, w, r)
		return reply{w}
	}
}

// listClusters is a request that ends at once.
func listClusters() *http.Request {
	return httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"))
}

// However many streams one key opens, through however many hosts, the clients of the leader and of these hosts are served, and so is root's socket.
func TestStreamsThroughOtherHostsKeepNobodyOut(t *testing.T) {
	t.Run("agents", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, one, other := followed(t)
			ctx, end := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer end()
			agents := make([]func(*http.Request, string, string) reply, 8)
			for i := range agents {
				agents[i] = b.forwardedBy(httpx.Peer{HostID: fmt.Sprintf("%032x", i)}, fmt.Sprintf("192.0.2.%d:1", i+10))
				for range 20 {
					all.Go(func() {
						agents[i](httptest.NewRequestWithContext(ctx, "GET", logPath+"?follow=1", nil), "203.0.113.1:1", one)
					})
				}
			}
			synctest.Wait()
			for i, agent := range agents {
				if got := agent(listClusters(), "203.0.113.2:1", other); got.Code != http.StatusOK {
					t.Errorf("another client of agent %d: %d %s", i, got.Code, got.Body)
				}
			}
			if got := b.as(other, listClusters()); got.Code != http.StatusOK {
				t.Errorf("another client: %d %s", got.Code, got.Body)
			}
			all.Go(func() {
				got := b.as(other, httptest.NewRequestWithContext(ctx, "GET", logPath+"?follow=1", nil))
				if got.Code != http.StatusOK {
					t.Errorf("another key follows: %d %s", got.Code, got.Body)
				}
			})
			synctest.Wait()
		})
	})
	t.Run("a server", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, one, other := followed(t)
			b.config.Shared.limits.Streams.PerHost = 32 // so that the requests of the address are what is bounded
			ctx, end := context.WithCancel(t.Context())
			var all sync.WaitGroup
			defer all.Wait()
			defer end()
			server := b.forwardedBy(httpx.Peer{HostID: followerID, Server: true}, "192.0.2.9:1")
			for range 8 {
				all.Go(func() {
					server(httptest.NewRequestWithContext(ctx, "GET", logPath+"?follow=1", nil), "203.0.113.1:1", one)
				})
			}
			synctest.Wait()
			if got := server(listClusters(), "203.0.113.2:1", other); got.Code != http.StatusOK {
				t.Errorf("another client of the server: %d %s", got.Code, got.Body)
			}
		})
	})
}

// The host of a task knows whose stream it is by the word of the server that has authorized it, and which client's.
func TestStreamsAtTheHostOfATaskCountForWhoeverFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, _ := followed(t)
		b.config.Shared.limits.Open.PerAddress = 64
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer end()
		handler, codes := peerHandler(b, selfLeads), make(chan int, 41)
		follow := func(owner, client string) {
			all.Go(func() {
				w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", logPath+"?follow=1", nil)
				r.Header.Set(httpx.HeaderAuthorizedBy, followerID)
				r.Header.Set(httpx.HeaderOwner, owner)
				r.Header.Set(httpx.HeaderClient, client)
				serveHTTP(handler, w, r)
				codes <- w.Code
			})
		}
		for i := range 40 {
			follow("one", fmt.Sprintf("203.0.113.%d:1", i))
		}
		synctest.Wait()
		if refused := len(codes); refused != 40-16 {
			t.Errorf("of 40 streams of one owner %d are refused", refused)
		}
		follow("other", "203.0.113.99:1")
		synctest.Wait()
		if refused := len(codes); refused != 40-16 {
			t.Errorf("%d streams are refused after that of another owner", refused)
		}
	})
}

// A server that has a task's host answer says to it whose request that is, so that the streams of many count for the one that they are of.
func TestTheHostOfATaskIsToldWhoAsks(t *testing.T) {
	b := newLogFixture(t, nil)
	b.beside(roundTrip(func(r *http.Request) (*http.Response, error) {
		return sends(r.Header.Get(httpx.HeaderClient))
	}))
	for name, c := range map[string]struct {
		peer httpx.Peer
		want string
	}{
		"an agent is the client": {httpx.Peer{HostID: otherHost}, "192.0.2.9:1"},
		"a server says who is":   {httpx.Peer{HostID: otherHost, Server: true}, "203.0.113.1:1"},
	} {
		if got := b.forwardedBy(c.peer, "192.0.2.9:1")(httptest.NewRequest("GET", logPath, nil), "203.0.113.1:1", bearerKey); got.Body.String() != c.want {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

// Strangers at many addresses leave places for root's socket.
func TestRootsSocketIsServedBesideAnyNumberOfClients(t *testing.T) {
	b, _, other := followed(t)
	for i := range 64 {
		for held := true; held; {
			_, held = b.config.Shared.limits.Open.TryAcquire(fmt.Sprintf("192.0.2.%d:1", i))
		}
	}
	if got := b.as(other, listClusters()); got.Code != http.StatusServiceUnavailable {
		t.Fatalf("a client: %d %s", got.Code, got.Body)
	}
	b.config.Trusted = true
	r := listClusters()
	r.RemoteAddr = "@"
	if got := b.serve(r); got.Code != http.StatusOK {
		t.Errorf("root: %d %s", got.Code, got.Body)
	}
}

// What a server forwards counts for the client that it names, wherever an address has a part.
func TestWhatAServerForwardsCountsForItsClient(t *testing.T) {
	for name, semaphore := range map[string]func(*httpx.Limits) *httpx.AddressSemaphore{
		"open":         func(l *httpx.Limits) *httpx.AddressSemaphore { return &l.Open },
		"worked on":    func(l *httpx.Limits) *httpx.AddressSemaphore { return &l.InFlight },
		"bodies":       func(l *httpx.Limits) *httpx.AddressSemaphore { return &l.Bodies },
		"large bodies": func(l *httpx.Limits) *httpx.AddressSemaphore { return &l.LargeBodies },
		"answers":      func(l *httpx.Limits) *httpx.AddressSemaphore { return &l.Answers },
	} {
		t.Run(name, func(t *testing.T) {
			b := ready(t)
			b.config.Shared, b.config.Ended = NewShared(), largeHistory(20)
			const address = "192.0.2.9:1"
			part := semaphore(b.config.Shared.limits)
			if part.PerAddress == 0 {
				part.PerAddress = 1
			}
			if _, ok := part.TryAcquireN(address, part.PerAddress); !ok {
				t.Fatal("the part of the server's address is not free")
			}
			server := b.forwardedBy(httpx.Peer{HostID: followerID, Server: true}, address)
			for _, r := range []*http.Request{
				httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"+strings.Repeat(" ", httpx.SmallBody))), httptest.NewRequest("GET", "/v1/history", nil),
			} {
				if got := server(r, "203.0.113.2:1", bearerKey); got.Code != http.StatusOK {
					t.Errorf("%s: %d %s", r.URL, got.Code, got.Body)
				}
			}
		})
	}
}

// A large body would be held for as long as the stream of its request lasts, which is hours. No request that streams takes one.
func TestAStreamHoldsNoPlaceForItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, one, other := followed(t)
		limits := b.config.Shared.limits
		limits.LargeBodies.Size = 1
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer end()
		all.Go(func() {
			got := b.as(one, httptest.NewRequestWithContext(ctx, "GET", logPath+"?follow=1", strings.NewReader(strings.Repeat(" ", httpx.SmallBody+1))))
			if got.Code != http.StatusBadRequest || got.Header().Get("X-Amzn-ErrorType") != invalid {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
		synctest.Wait()
		large := httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"+strings.Repeat(" ", httpx.SmallBody)))
		if got := b.as(other, large); got.Code != http.StatusOK {
			t.Errorf("the body of another client: %d %s", got.Code, got.Body)
		}
		table := newRoutes(b.config, &httpx.Peers{}, &operationEndpoints{})
		for _, route := range table.all() {
			if route.Stream && route.Method != http.MethodGet {
				t.Errorf("%s streams, and takes a body", nameOf(route))
			}
		}
	})
}

// Of the streams of events, of which there are few, one owner of keys leaves half for others.
func TestOneOwnerFollowsHalfOfTheEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, one, other := followed(t)
		withEvents(b).config.Shared = NewShared()
		b.config.Shared.events.Streams.Size = 8
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer end()
		codes := make(chan int, 20)
		follow := func(bearer string) {
			all.Go(func() {
				codes <- b.as(bearer, httptest.NewRequestWithContext(ctx, "GET", "/v1/events", nil)).Code
			})
			synctest.Wait()
		}
		for range 8 {
			follow(one)
		}
		if refused := len(codes); refused != 4 {
			t.Errorf("of 8 streams of one owner %d are refused", refused)
		}
		follow(other)
		if refused := len(codes); refused != 4 {
			t.Errorf("%d streams are refused after that of another owner", refused)
		}
	})
}
