package server

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

func TestHostsShareTheCertificatesOfListenersAlone(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(3) // one of the four is an agent
	p.waitForVoters(3)
	leader := p.leader().member.localServer()
	apply(t, leader, raftfsm.Wrap(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "b", Name: "b", Type: loadbalancer.Application}}))
	apply(t, leader, raftfsm.Wrap(loadbalancer.CreateListener{
		Listener: loadbalancer.Listener{ID: "l", LoadBalancer: "b", Port: 443, Protocol: traffic.HTTPS, Certificates: []loadbalancer.Certificate{{Name: "acme/a.example.org"}}},
		Default:  loadbalancer.Rule{ID: "r", Action: traffic.Action{FixedResponse: &traffic.FixedResponse{StatusCode: 204}}},
	}))
	caches := func(i int) ACMECache { return p.hosts[i].member.ACME }
	secret := []byte("the key of a certificate")

	if err := caches(0).Put(t.Context(), "b.example.org", secret); err == nil {
		t.Error("a name that no listener has")
	}
	if _, err := caches(1).Get(t.Context(), "b.example.org"); err == nil || errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a host would order a certificate for a name that no listener has: %v", err)
	}
	if _, err := caches(1).Get(t.Context(), "a.example.org"); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("the first host that misses it: %v", err)
	}
	if _, err := caches(2).Get(t.Context(), "a.example.org"); !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("another one meanwhile: %v", err)
	}
	for i := range p.hosts {
		if err := caches(i).Put(t.Context(), "a.example.org", secret); err != nil {
			t.Errorf("host %d: %v", i, err)
		}
		if got, err := caches((i+1)%len(p.hosts)).Get(t.Context(), "a.example.org"); err != nil || !bytes.Equal(got, secret) {
			t.Errorf("after a put of host %d: %q, %v", i, got, err)
		}
	}

	p.rotateSealingKey()
	p.waitUntilSealed()
	if got, err := caches(3).Get(t.Context(), "a.example.org"); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("after the sealing key was replaced: %q, %v", got, err)
	}
	var state bytes.Buffer
	if err := p.view().WriteSnapshot(&state); err != nil || bytes.Contains(state.Bytes(), secret) {
		t.Errorf("a snapshot holds it in clear: %v", err)
	}
	checkACMEKeys(t, caches)
}

// checkACMEKeys checks which keys hosts may put and delete: root of one could fill what is kept, and end certificates of others.
func checkACMEKeys(t *testing.T, caches func(int) ACMECache) {
	t.Helper()
	secret := []byte("an answer to a challenge")
	if err := caches(0).Put(t.Context(), "a.example.org+token", secret); err != nil {
		t.Error(err)
	}
	if err := caches(1).Delete(t.Context(), "a.example.org+token"); err != nil {
		t.Error(err)
	}
	if _, err := caches(2).Get(t.Context(), "a.example.org+token"); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
	for _, key := range []string{"a.example.org+rsa", "a.example.org+http-01", "a.example.org+token+token", "+token", "a.example.org+" + strings.Repeat("x", 1<<10)} {
		if err := caches(3).Put(t.Context(), key, secret); err == nil {
			t.Errorf("%.40s is kept", key)
		}
	}
	for _, key := range []string{"a.example.org", "acme_account+key"} {
		if err := caches(3).Delete(t.Context(), key); err == nil {
			t.Errorf("%s can be deleted", key)
		}
	}
}
