package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/api/httpx"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// limited allows so many requests in flight, and so many large bodies.
func limited(inFlight, largeBodies int64) *Shared {
	shared := NewShared()
	shared.limits = &httpx.Limits{Open: httpx.AddressSemaphore{Size: 1000}, Streams: httpx.HostSemaphore{Size: 1000, PerHost: 1000}, InFlight: httpx.AddressSemaphore{Size: inFlight}, Awaiting: httpx.HostSemaphore{Size: 100, PerHost: 2}, Bodies: httpx.AddressSemaphore{Size: 100}, LargeBodies: httpx.AddressSemaphore{Size: largeBodies}, LargeInputs: httpx.AddressSemaphore{Size: 1000},
		Answers: httpx.AddressSemaphore{Size: 1 << 20, PerAddress: 1 << 20}, Lists: httpx.OwnerSemaphore{Size: 3}}
	return shared
}

// newLimitedServer is a bench on a port with room for that many requests at once.
func newLimitedServer(t *testing.T, underWay, large int64) (*fixture, *httptest.Server) {
	b := newFixture(t)
	b.config.Shared = limited(underWay, large)
	server := httptest.NewServer(NewHandler(b.config))
	t.Cleanup(server.Close)
	return b, server
}

// dial opens a connection and writes the beginning of a request.
func dial(t *testing.T, server *httptest.Server, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// blockingStore is a cluster whose reads wait until the test lets them go.
type blockingStore struct {
	Store
	begun, free chan struct{}
}

func (w blockingStore) View(ctx context.Context) (*raftfsm.View, error) {
	w.begun <- struct{}{}
	<-w.free
	return w.Store.View(ctx)
}

func TestBeyondTheLimitSDKsAreToldToRetry(t *testing.T) {
	b := newFixture(t)
	slow := blockingStore{Store: b.fakeStore, begun: make(chan struct{}), free: make(chan struct{})}
	b.config.Store, b.config.Leader = slow, fakeLeadership(selfLeads)
	b.config.Shared = limited(2, 1)
	answers := make(chan reply)
	for range 2 {
		go func() { answers <- b.aws("ListClusters", "{}") }()
		<-slow.begun
	}
	b.aws("ListClusters", "{}").wantError(t, 503, httpx.Throttled, "Nothing was done: this host has too many requests at once. Try again.")
	if got := b.get("/healthz"); got.Code != 200 {
		t.Errorf("a health check takes no place, and asks nobody: %d %s", got.Code, got.Body)
	}
	close(slow.free)
	for range 2 {
		if got := <-answers; got.Code != 200 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	go func() { <-slow.begun }()
	if got := b.aws("ListClusters", "{}"); got.Code != 200 {
		t.Errorf("afterwards: %d %s", got.Code, got.Body)
	}
}

// A client that is slow to send or to read costs a connection, and nothing that others need.
func TestSlowClientsHoldNoSlot(t *testing.T) {
	b, server := newLimitedServer(t, 1, 1)
	for n := range 200 {
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: fmt.Sprintf("%0200d", n), Status: spec.ClusterActive}})
	}
	for range 50 {
		dial(t, server, "POST /v1/ListClusters HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
		dial(t, server, "POST /v1/ListClusters HTTP/1.1\r\nHo")
	}
	for range 50 { // these ask for 20 kB again and again, and read nothing: their connections fill up
		dial(t, server, strings.Repeat("POST /v1/ListClusters HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 40))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 20 {
		got := send(t, "POST", server.URL+"/v1/ListTasks", "{}")
		for got.Code == 503 && ctx.Err() == nil { // one of those above has the place for the moment that it takes
			got = send(t, "POST", server.URL+"/v1/ListTasks", "{}")
		}
		if got.Code != 200 {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
}

func TestAStreamHoldsNoSlot(t *testing.T) {
	b := newFixture(t)
	begun := make(chan struct{})
	b.config.Shared = limited(1, 1)
	b.agent.logs = func(ctx context.Context, _ spec.LogQuery, _ func(spec.LogLine) error) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
	b.mustApply(t, registerCommand(t))
	b.run(t, `{"taskDefinition":"f"}`)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.serve(httptest.NewRequestWithContext(ctx, "GET", logPath+"?follow=1", nil))
	}()
	<-begun
	if got := b.aws("ListTasks", "{}"); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	end()
	<-ended
}

// The leader has authorized it, but this host reads the log: it is within the limits of this host too.
func TestARequestForTheHostOfATaskTakesASlot(t *testing.T) {
	b := newFixture(t)
	b.config.Shared = limited(0, 0)
	for _, path := range []string{logPath + "?tail=1000000", "/v1/tasks/" + firstTask + "/pulls"} {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set(httpx.HeaderAuthorizedBy, followerID)
		w := httptest.NewRecorder()
		peerHandler(b, selfLeads).ServeHTTP(w, r)
		reply{w}.wantError(t, 503, httpx.Throttled, "Nothing was done: this host has too many requests at once. Try again.")
	}
}

func TestOnlySoManyLargeBodiesAreHeldAtOnce(t *testing.T) {
	b, server := newLimitedServer(t, 100, 1)
	large := `{"group":"` + strings.Repeat("x", httpx.SmallBody) + `"}`
	conn := dial(t, server, fmt.Sprintf("POST /v1/ListTasks HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(large)+1, large))
	for b.config.Shared.limits.LargeBodies.Held() == 0 { // until it has arrived
		send(t, "GET", server.URL+"/v1/version", "")
	}
	send(t, "POST", server.URL+"/v1/ListTasks", large).wantError(t, 503, httpx.Throttled, "Nothing was done: this host has too many large requests at once. Try again.")
	if got := send(t, "POST", server.URL+"/v1/ListTasks", "{}"); got.Code != 200 {
		t.Errorf("a small one: %d %s", got.Code, got.Body)
	}
	if _, err := io.WriteString(conn, " "); err != nil {
		t.Fatal(err)
	}
	if answer, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil || answer.StatusCode != 400 { // group is no field of it
		t.Errorf("%v, %v", answer, err)
	}
	for b.config.Shared.limits.LargeBodies.Held() != 0 {
		send(t, "GET", server.URL+"/v1/version", "")
	}
}

// Whoever sends large bodies without ever ending them, and without a key, keeps out only those at the same address.
func TestSlowLargeBodiesOfOneAddressKeepNobodyElseOut(t *testing.T) {
	b, server := newLimitedServer(t, 100, 3)
	limits := b.config.Shared.limits
	limits.LargeBodies.PerAddress = 2
	large := `{"clusterName":"lab"}` + strings.Repeat(" ", httpx.SmallBody)
	for held := range int64(2) {
		dial(t, server, fmt.Sprintf("POST /v1/CreateCluster HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a:b\r\nContent-Length: %d\r\n\r\n%s", httpx.MaxBody, large))
		for limits.LargeBodies.Held() != held+1 { // until it has arrived
			send(t, "GET", server.URL+"/v1/version", "")
		}
	}
	send(t, "POST", server.URL+"/v1/CreateCluster", large).wantError(t, 503, httpx.Throttled, "Nothing was done: this host has too many large requests at once. Try again.")
	r := httptest.NewRequest("POST", "/v1/CreateCluster", strings.NewReader(large))
	r.RemoteAddr = "192.0.2.7:1"
	if got := b.serve(r); got.Code != 200 || b.state.View().Cluster("lab") == nil {
		t.Errorf("from another address: %d %s", got.Code, got.Body)
	}
}

// Small bodies that never end take memory as well: one address has a part of those that are read at once.
func TestSlowSmallBodiesOfOneAddressKeepNobodyElseOut(t *testing.T) {
	b, server := newLimitedServer(t, 100, 3)
	limits := b.config.Shared.limits
	limits.Bodies.PerAddress = 2
	for held := range int64(2) {
		dial(t, server, "POST /v1/CreateCluster HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a:b\r\nContent-Length: 1000\r\n\r\n{")
		for limits.Bodies.Held() != held+1 { // until it has arrived
			send(t, "GET", server.URL+"/v1/version", "")
		}
	}
	send(t, "POST", server.URL+"/v1/CreateCluster", "{}").wantError(t, 503, httpx.Throttled, "Nothing was done: this host has too many requests that are still arriving at once. Try again.")
	r := httptest.NewRequest("POST", "/v1/CreateCluster", strings.NewReader(`{"clusterName":"lab"}`))
	r.RemoteAddr = "192.0.2.7:1"
	if got := b.serve(r); got.Code != 200 || b.state.View().Cluster("lab") == nil {
		t.Errorf("from another address: %d %s", got.Code, got.Body)
	}
}

func TestABodyWithoutCredentialsIsNotRead(t *testing.T) {
	b := newFixture(t)
	b.config.Trusted = false
	r := httptest.NewRequest("POST", "/v1/ListClusters", unreadBody{t})
	b.serve(r).wantError(t, 400, "MissingAuthenticationTokenException", "The request carries no signature: sign it with an access key (AWS Signature Version 4), or send \"Authorization: Bearer KEYID:SECRET\". `pinion env` on a host prints a key.")
}

type unreadBody struct{ *testing.T }

func (u unreadBody) Read([]byte) (int, error) {
	u.Error("the body was read")
	return 0, io.EOF
}

func gzipped(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, text)
	w.Close()
	return out.String()
}

func TestBodiesMayBeCompressed(t *testing.T) {
	b := newFixture(t)
	send := func(encoding, body string) reply {
		r := httptest.NewRequest("POST", "/v1/CreateCluster", strings.NewReader(body))
		r.Header.Set("Content-Encoding", encoding)
		return b.serve(r)
	}
	if got := send("gzip", gzipped(`{"clusterName":"lab"}`)); got.Code != 200 || b.state.View().Cluster("lab") == nil {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	send("gzip", gzipped(strings.Repeat(" ", httpx.MaxBody+1))).wantError(t, 413, httpx.TooLarge, "The request body is larger than 1048576 bytes (1 MiB), which is the most that is accepted.")
	send("br", "x").wantError(t, 400, "SerializationException", `A body with Content-Encoding "br" cannot be read: send it as it is, or with gzip.`)
	for _, damaged := range []string{"{}", gzipped("{}")[:20]} {
		if got := send("gzip", damaged); got.Code != 400 || got.Header().Get("X-Amzn-ErrorType") != "SerializationException" {
			t.Errorf("%q: %d %s", damaged, got.Code, got.Body)
		}
	}
}

func TestLargeResponsesAreCompressedForClientsThatAcceptIt(t *testing.T) {
	b := newFixture(t)
	for n := range 40 {
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: fmt.Sprintf("%0200d", n), Status: spec.ClusterActive}})
	}
	plain := b.aws("ListClusters", "{}")
	for accepted, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "": "", "identity": "", "gzip;q=0": "", "gzip; q=0.0": ""} {
		r := httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"))
		r.Header.Set("Accept-Encoding", accepted)
		got := b.serve(r)
		if encoding := got.Header().Get("Content-Encoding"); encoding != want {
			t.Errorf("%q: %q", accepted, encoding)
			continue
		}
		text := io.Reader(got.Body)
		if want == "gzip" {
			var err error
			if text, err = gzip.NewReader(got.Body); err != nil {
				t.Fatal(err)
			}
		}
		if read, err := io.ReadAll(text); err != nil || string(read) != plain.Body.String() {
			t.Errorf("%q: %v, %d bytes", accepted, err, len(read))
		}
	}
	r := httptest.NewRequest("POST", "/v1/ListTasks", strings.NewReader("{}"))
	r.Header.Set("Accept-Encoding", "gzip")
	if got := b.serve(r); got.Header().Get("Content-Encoding") != "" {
		t.Error("a small response is compressed")
	}
}
