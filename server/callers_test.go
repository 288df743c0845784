package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/raftfsm/blob"
	"pinion/raftfsm/iplease"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/history"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/orchestrator"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/prefetch"
	"pinion/server/tracker"
)

// A caller is what somebody shows who connects to the port: any certificate, or none.
type caller struct {
	at   string
	cert *tls.Certificate
}

// dial connects and is not put off by whom it reaches.
func (c caller) dial(ctx context.Context, alpn string) (net.Conn, error) {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpn}}
	if c.cert != nil {
		config.Certificates = []tls.Certificate{*c.cert}
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", c.at)
}

// post calls over HTTP/2 as hosts do. status is 0 when there was no answer at all.
func (c caller) post(t *testing.T, alpn, path string, in any) (status int, text []byte) {
	t.Helper()
	return c.call(t, alpn, http.MethodPost, path, in)
}

// call is post with any method.
func (c caller) call(t *testing.T, alpn, method, path string, in any) (status int, text []byte) {
	t.Helper()
	// HTTP/2 without TLS on top of TLS: net/http must not see it.
	type hidden struct{ net.Conn }
	transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := c.dial(ctx, alpn)
		return hidden{conn}, err
	}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.at+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	text, _ = io.ReadAll(answer.Body)
	return answer.StatusCode, text
}

// rightsTest is a pool of one server and the agents a and b, a host that was removed, and the host of another pool.
type rightsTest struct {
	*pool
	server, a, b, removed *testHost
	foreign               *testHost
	apiCalls              atomic.Int64
	log                   *lockedBuffer
}

func newRights(t *testing.T) *rightsTest {
	t.Helper()
	r := &rightsTest{pool: newPool(t), log: new(lockedBuffer)}
	r.server = r.found(func(c *MemberConfig) { c.Servers, c.Log = 1, slog.New(slog.NewTextHandler(r.log, nil)) })
	agents := r.join(3)
	r.a, r.b, r.removed = agents[0], agents[1], agents[2]
	for _, agent := range agents {
		eventually(t, "the host is known", func() bool { return r.view().Host(agent.cfg.HostID) != nil })
	}
	r.removed.close()
	if err := r.server.member.Hosts.RemoveHost(t.Context(), r.removed.cfg.HostID, true); err != nil {
		t.Fatal(err)
	}
	r.foreign = newPool(t).found(func(c *MemberConfig) { c.HostID = r.a.cfg.HostID })
	r.server.member.HandleAPI(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { r.apiCalls.Add(1) }))
	return r
}

func certOf(t *testing.T, h *testHost) *tls.Certificate {
	t.Helper()
	cert, err := h.cfg.Identity.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// heldCA is the pool's authority with its key, as a server has it on its disk.
func heldCA(t *testing.T, h *testHost) pki.CA {
	t.Helper()
	ca, held := h.cfg.Identity.CA()
	if !held {
		t.Fatalf("host %d does not hold the authority", h.n)
	}
	return ca
}

// signedFor is a certificate for a host, by the authority, or by its own key when there is none.
func signedFor(t *testing.T, hostID string, authority *pki.CA, now time.Time) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if authority == nil {
		id, err := pki.Open(filepath.Join(t.TempDir(), "pki"), hostID, nil)
		if err != nil {
			t.Fatal(err)
		}
		own, _ := id.CA()
		authority = &own
	}
	raw, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pki.Sign(*authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw}), hostID, now)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

// secrets is what each call gets that would work for the right host.
func (r *rightsTest) secrets() map[string]any {
	victim := r.b.agent.host
	return map[string]any{
		dispatch.PathSession:        map[string]any{"seq": 1, "handshake": dispatch.Registration{Host: victim}},
		membership.PathStats:        struct{}{},
		admission.PathKeyring:       struct{}{},
		dispatch.PathRegister:       dispatch.Registration{Host: victim},
		dispatch.PathReports:        []map[string]any{{"host": victim.ID, "reports": []spec.TaskReport{{TaskID: "task", Status: spec.Stopped}}}},
		dispatch.PathMetrics:        map[string]any{"host": victim.ID, "report": metric.Report{Waiting: []metric.Waiting{{Group: "g", Requests: 1}}}},
		liveness.PathHeartbeats:     liveness.Batch{Hosts: []string{victim.ID}},
		history.PathRead:            history.Request{To: time.Now()},
		prefetch.Path:               blob.Prefetch{Images: []string{"registry.example.com/of-an-attacker:1"}},
		membership.PathRole:         struct{}{},
		membership.PathPoolInfo:     struct{}{},
		admission.PathRenew:         []byte("request"),
		admission.PathAdmit:         admission.JoinRequest{HostID: victim.ID, TokenID: "token", Secret: "secret"},
		admission.PathHostKey:       struct{}{},
		admission.PathRoot:          strings.Repeat("0", 64),
		admission.PathACME:          map[string]any{"do": "get", "key": "www.example.org"},
		admission.PathSecrets:       map[string]any{"task": "task", "containers": []string{"main"}},
		orchestrator.PathProtection: map[string]any{"task": "task", "until": new(time.Now())},
		admission.PathCredentials:   map[string]any{"task": "task"},
		membership.PathHostTags:     struct{}{},
		dispatch.PathLease:          map[string]any{"host": victim.ID, "request": iplease.Request{IP: "192.0.2.1", Released: 1}},
		tracker.PathRequest:         blob.Request{Full: true, Held: []string{"sha256:claimed"}},
		pathAPI + "v1/ListTasks":    struct{}{},
	}
}

// readRaftPreamble greets as a server does, and returns what comes back.
func readRaftPreamble(t *testing.T, c caller) (word [8]byte, err error) {
	t.Helper()
	conn, err := c.dial(t.Context(), peer.Raft)
	if err != nil {
		return word, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return word, err
	}
	if _, err := conn.Write(word[:]); err != nil {
		return word, err
	}
	_, err = io.ReadFull(conn, word[:])
	return word, err
}

// lockedBuffer is a log that tests read.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
