package host

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pinion/node/acme"
	"pinion/node/acme/acmetest"
	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/traffic"
	"pinion/server/admission"
	"pinion/server/seal"
)

const acmeSite = "www.example.org"

// stateOnly is a leader of which the certificates by ACME need the state alone.
type stateOnly struct {
	admission.Server
	mu    sync.Mutex
	state *raftfsmtest.State
}

func (s *stateOnly) Now() time.Time { return time.Now() }

func (s *stateOnly) View(context.Context) (*raftfsm.View, error) { return s.state.View(), nil }

func (s *stateOnly) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Try(c)
}

// acmeHost is what one host shares with the others. It asks for each change twice, as it does when the answer was lost.
type acmeHost struct {
	*admission.ACMECache
	id      string
	refused chan error
}

func (h acmeHost) Get(ctx context.Context, key string) ([]byte, error) {
	return h.ACMECache.Get(ctx, h.id, key)
}

func (h acmeHost) Put(ctx context.Context, key string, value []byte) error {
	err := errors.Join(h.ACMECache.Put(ctx, h.id, key, value), h.ACMECache.Put(ctx, h.id, key, value))
	if err != nil {
		h.refused <- err
	}
	return err
}

func (h acmeHost) Delete(ctx context.Context, key string) error {
	return errors.Join(h.ACMECache.Delete(ctx, h.id, key), h.ACMECache.Delete(ctx, h.id, key))
}

// The first certificate of a pool is ordered: the leader keeps all that one host puts for it, and the others get it.
func TestTheFirstCertificateOfAPoolIsOrdered(t *testing.T) {
	state := raftfsmtest.New(t)
	raftfsmtest.Change(state, loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "b", Name: "b", Type: loadbalancer.Application}})
	raftfsmtest.Change(state, loadbalancer.CreateListener{
		Listener: loadbalancer.Listener{ID: "l", LoadBalancer: "b", Port: 443, Protocol: traffic.HTTPS, Certificates: []loadbalancer.Certificate{{Name: traffic.ACMEPrefix + acmeSite}}},
		Default:  loadbalancer.Rule{ID: "r", Action: traffic.Action{FixedResponse: &traffic.FixedResponse{StatusCode: 204}}},
	})
	keyring, err := seal.Open(filepath.Join(t.TempDir(), "seal.key"), nil)
	if err != nil {
		t.Fatal(err)
	}
	cache := &admission.ACMECache{Keys: &admission.AccessKeys{Server: &stateOnly{state: state}, Keyring: keyring}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	authority, refused := acmetest.New(t, listener.Addr().(*net.TCPAddr).Port), make(chan error, 100)
	var hosts []*acme.Certificates
	for _, id := range []string{"a", "b", "c"} {
		hosts = append(hosts, acme.New(acme.Config{Directory: authority.Directory, Roots: authority.Server, Cache: acmeHost{cache, id, refused}, Log: slog.New(slog.DiscardHandler)}))
	}
	serveChallenges(t, listener, hosts[2])
	serials := map[string]bool{}
	for _, host := range hosts {
		host.SetNames([]string{acmeSite})
	}
	for _, host := range hosts {
		serials[orderedBy(t, host).Leaf.SerialNumber.String()] = true
	}
	if len(serials) != 1 {
		t.Errorf("the hosts have %d certificates", len(serials))
	}
	for len(refused) > 0 {
		t.Errorf("what a host has put: %v", <-refused)
	}
}

// serveChallenges answers the CA by one host.
func serveChallenges(t *testing.T, listener net.Listener, host *acme.Certificates) {
	secure := tls.NewListener(listener, &tls.Config{GetCertificate: host.Certificate, NextProtos: []string{"acme-tls/1"}})
	t.Cleanup(func() { secure.Close() })
	go func() {
		for {
			connection, err := secure.Accept()
			if err != nil {
				return
			}
			_ = connection.(*tls.Conn).HandshakeContext(t.Context())
			connection.Close()
		}
	}()
}

// orderedBy runs a host until it has the certificate.
func orderedBy(t *testing.T, host *acme.Certificates) *tls.Certificate {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // reached only on a failure
	ended := make(chan struct{})
	go func() { defer close(ended); host.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for host.Problem(acmeSite) != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(host.Problem(acmeSite))
		}
	}
	certificate, err := host.Certificate(&tls.ClientHelloInfo{ServerName: acmeSite})
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
