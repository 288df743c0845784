package server

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/acme"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
	"pinion/server/admission"
)

const (
	acmeSite    = "a.example.org"
	acmeAnswer  = acmeSite + "+token"
	acmeAccount = "acme_account+key"
	day         = 24 * time.Hour
)

// newACMEPool is a pool of four hosts, one of them an agent, with a listener that has the certificate of acmeSite. It returns what each host shares.
func newACMEPool(t *testing.T) (p *pool, caches func(int) admission.ACMECalls) {
	p = newPool(t)
	p.found(nil)
	p.join(3)
	p.waitForVoters(3)
	leader := p.leader().member.localServer()
	apply(t, leader, raftfsm.Wrap(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "b", Name: "b", Type: loadbalancer.Application}}))
	apply(t, leader, raftfsm.Wrap(loadbalancer.CreateListener{
		Listener: loadbalancer.Listener{ID: "l", LoadBalancer: "b", Port: 443, Protocol: traffic.HTTPS, Certificates: []loadbalancer.Certificate{{Name: traffic.ACMEPrefix + acmeSite}}},
		Default:  loadbalancer.Rule{ID: "r", Action: traffic.Action{FixedResponse: &traffic.FixedResponse{StatusCode: 204}}},
	}))
	return p, func(i int) admission.ACMECalls { return p.hosts[i].member.ACME }
}

func TestHostsShareTheCertificatesOfListenersAlone(t *testing.T) {
	p, caches := newACMEPool(t)
	value := certificateOf(t, acmeSite, time.Now(), 90*day).value

	if err := caches(0).Put(t.Context(), "b.example.org", value); err == nil {
		t.Error("a name that no listener has")
	}
	if _, err := caches(1).Get(t.Context(), "b.example.org"); err == nil || errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a host would order a certificate for a name that no listener has: %v", err)
	}
	if _, err := caches(1).Get(t.Context(), acmeSite); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("the first host that misses it: %v", err)
	}
	if _, err := caches(2).Get(t.Context(), acmeSite); !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("another one meanwhile: %v", err)
	}
	if err := caches(1).Put(t.Context(), acmeSite, value); err != nil {
		t.Errorf("the host that has ordered it: %v", err)
	}
	account, err := caches(2).Get(t.Context(), acmeAccount)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		for i := range p.hosts {
			if got, err := caches(i).Get(t.Context(), acmeSite); err != nil || !bytes.Equal(got, value) {
				t.Errorf("%s host %d has %.40q, %v", when, i, got, err)
			}
			if got, err := caches(i).Get(t.Context(), acmeAccount); err != nil || !bytes.Equal(got, account) {
				t.Errorf("%s host %d has another account: %v", when, i, err)
			}
			if err := caches(i).Put(t.Context(), acmeSite, value); err != nil {
				t.Errorf("%s host %d puts the same again: %v", when, i, err)
			}
		}
	}
	check("once it is there")
	p.rotateSealingKey()
	p.waitUntilSealed()
	check("after the sealing key was replaced")
	var state bytes.Buffer
	if err := p.view().WriteSnapshot(&state); err != nil || bytes.Contains(state.Bytes(), value[:200]) {
		t.Errorf("a snapshot holds it in clear: %v", err)
	}
	checkACMEKeys(t, caches, value)
}

// checkACMEKeys checks which keys hosts may put and delete: root of one could fill what is kept, and end certificates of others.
func checkACMEKeys(t *testing.T, caches func(int) admission.ACMECalls, value []byte) {
	t.Helper()
	for _, key := range []string{"a.example.org+rsa", "a.example.org+http-01", "a.example.org+token+token", "+token", "a.example.org+" + strings.Repeat("x", 1<<10)} {
		if err := caches(3).Put(t.Context(), key, value); err == nil {
			t.Errorf("%.40s is kept", key)
		}
	}
	for _, key := range []string{acmeSite, acmeAccount} {
		if err := caches(3).Delete(t.Context(), key); err == nil {
			t.Errorf("%s can be deleted", key)
		}
	}
}

// Root of a host puts what would keep certificates from the pool, or show its own in their place.
func TestAHostPutsNothingInThePlaceOfCertificates(t *testing.T) {
	p, caches := newACMEPool(t)
	orders, hostile := caches(1), caches(3)
	now := time.Now()
	refused := func(what, key string, value []byte, why string) {
		t.Helper()
		if err := hostile.Put(t.Context(), key, value); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", what, err)
		}
	}
	good, answer := certificateOf(t, acmeSite, now, 90*day), challengeOf(t, acmeSite)

	refused("an account of its own, before there is one", acmeAccount, keyOf(t), "the leader makes the key of the account")
	account, err := hostile.Get(t.Context(), acmeAccount)
	if err != nil {
		t.Fatal(err)
	}
	refused("an account of its own", acmeAccount, keyOf(t), "the leader makes the key of the account")
	refused("an account that is none", acmeAccount, []byte("junk"), "the leader makes the key of the account")
	if err := hostile.Put(t.Context(), acmeAccount, account); err != nil {
		t.Errorf("the account that there is: %v", err)
	}

	if _, err := orders.Get(t.Context(), acmeSite); !errors.Is(err, spec.ErrNotFound) {
		t.Fatal(err)
	}
	refused("an answer to the challenge of another host", acmeAnswer, answer, "it is the turn of host "+p.hosts[1].member.cfg.HostID)
	refused("a certificate that another host orders", acmeSite, good.value, "it is the turn of host")
	for i := range 2 { // once more, as when the first answer was lost
		if err := orders.Put(t.Context(), acmeAnswer, answer); err != nil {
			t.Errorf("try %d of the host whose turn it is: %v", i, err)
		}
	}
	if err := hostile.Delete(t.Context(), acmeAnswer); err == nil {
		t.Error("the answer of another host was deleted")
	}
	if got, err := hostile.Get(t.Context(), acmeAnswer); err != nil || !bytes.Equal(got, answer) {
		t.Errorf("the answer that any host shows to the CA: %v", err)
	}

	for _, host := range []admission.ACMECalls{hostile, orders} {
		checkBadCertificates(t, host, good, answer)
	}
	if err := orders.Put(t.Context(), acmeSite, good.value); err != nil {
		t.Fatal(err)
	}
	for _, host := range []admission.ACMECalls{hostile, orders} {
		if err := host.Put(t.Context(), acmeSite, certificateOf(t, acmeSite, now, 365*day).value); err == nil || !strings.Contains(err.Error(), "hosts renew from") {
			t.Errorf("another certificate in the place of one that is not due: %v", err)
		}
	}
	if err := orders.Delete(t.Context(), acmeAnswer); err != nil {
		t.Errorf("the host that has put the answer: %v", err)
	}
}

// checkBadCertificates checks which certificates no host may put.
func checkBadCertificates(t *testing.T, host admission.ACMECalls, good issued, answer []byte) {
	t.Helper()
	now := time.Now()
	for why, value := range map[string][]byte{
		"its own key has signed it": selfSigned(t, acmeSite),
		"for another key":           append(keyOf(t), good.chain...),
		"it has more than":          append(bytes.Clone(good.value), "and more"...),
		"not valid before":          certificateOf(t, acmeSite, now.Add(day), 90*day).value,
		"has expired":               certificateOf(t, acmeSite, now.Add(-2*day), day).value,
		"b.example.org":             certificateOf(t, "b.example.org", now, 90*day).value,
		"no key in PEM":             []byte("junk"),
		"it has no certificate":     keyOf(t),
		"from no CA":                answer,
	} {
		if err := host.Put(t.Context(), acmeSite, value); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("a certificate of which is to be said %q: %v", why, err)
		}
	}
}

// A certificate is replaced when it is due, and whenever an administrator has dropped it.
func TestACertificateThatIsDueIsReplaced(t *testing.T) {
	p, caches := newACMEPool(t)
	now := time.Now()
	put := func(i int, c issued) error { return caches(i).Put(t.Context(), acmeSite, c.value) }
	early, due, fresh := certificateOf(t, acmeSite, now.Add(-60*day), 90*day+2*time.Hour), certificateOf(t, acmeSite, now.Add(-60*day), 90*day), certificateOf(t, acmeSite, now, 90*day)
	if err := put(0, early); err != nil {
		t.Fatal(err)
	}
	if err := put(0, fresh); err == nil {
		t.Error("one that is due in an hour was replaced")
	}
	drop := func() { apply(t, p.leader().member.localServer(), raftfsm.Wrap(acme.Delete{Key: acmeSite})) }
	drop()
	if err := put(0, due); err != nil {
		t.Errorf("after it was dropped: %v", err)
	}
	if err := put(0, fresh); err != nil {
		t.Errorf("one that is due: %v", err)
	}
	if got, err := caches(2).Get(t.Context(), acmeSite); err != nil || !bytes.Equal(got, fresh.value) {
		t.Errorf("another host has the previous one: %v", err)
	}
}
