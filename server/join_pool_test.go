package server

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/peer"
	"pinion/server/pki"
	"pinion/server/rpc"
)

// restartAsNew prepares a host that joins with a token that is good for one host.
func restartAsNew(t *testing.T, p *pool) *testHost {
	t.Helper()
	token, err := p.leader().member.JoinTokens.CreateJoinToken(t.Context(), 0, 1, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return p.host(func(c *MemberConfig) { c.Join, c.JoinToken = p.leader().where, token })
}

// identity opens the host's, as its process would.
func (h *testHost) identity(t *testing.T) *pki.Identity {
	t.Helper()
	id, err := pki.OpenWith(filepath.Join(h.dir, "pki"), h.cfg.HostID, []string{"127.0.0.1"}, pki.Options{Joining: true, Log: h.cfg.Log, Now: h.pool.now})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// requestJoin joins as the host's process would, and returns the answer that it would get.
func (h *testHost) requestJoin(t *testing.T, id *pki.Identity) admission.JoinReply {
	t.Helper()
	token, err := admission.ParseToken(h.cfg.JoinToken)
	if err != nil {
		t.Fatal(err)
	}
	request, err := id.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	client := peer.JoinClient(token.Fingerprint, h.pool.now, nil)
	defer client.CloseIdleConnections()
	var answer admission.JoinReply
	ask := admission.JoinRequest{HostID: h.cfg.HostID, TokenID: token.ID, Secret: token.Secret, CSR: request}
	if err := (&rpc.Client{HTTP: client}).Call(t.Context(), h.cfg.Join, admission.PathJoin, ask, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAJoinThatWasCutShortAnywhereSucceedsNextTime(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	cases := map[string]func(h *testHost, id *pki.Identity){
		"before the request was sent": func(_ *testHost, id *pki.Identity) { _, _ = id.NewRequest() },
		"before the answer came":      func(h *testHost, id *pki.Identity) { h.requestJoin(t, id) },
		"before it was written down where the pool is": func(h *testHost, id *pki.Identity) {
			answer := h.requestJoin(t, id)
			if err := id.Install(answer.Certificate, answer.CA); err != nil {
				t.Fatal(err)
			}
			join := h.cfg.Join
			h.cfg.Join = ""
			if err := h.start(); !errors.Is(err, errJoinIncomplete) {
				t.Errorf("without --join it starts as if it were of no pool: %v", err)
			}
			h.cfg.Join = join
		},
	}
	for name, crash := range cases {
		t.Run(name, func(t *testing.T) {
			h := restartAsNew(t, p)
			crash(h, h.identity(t))
			if err := h.start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the host is known", func() bool { return p.view().Host(h.cfg.HostID) != nil })
		})
	}
}

func TestAHostThatWasOffForLongerThanItsCertificateLivesComesBackWithAToken(t *testing.T) {
	p := newPool(t)
	var c clock
	p.now = func() time.Time { return time.Now().Add(time.Duration(c.passed.Load())) }
	p.found(nil)
	agent := p.join(1)[0]
	eventually(t, "the host is known", func() bool { return p.view().Host(agent.cfg.HostID) != nil })
	registered := p.view().Host(agent.cfg.HostID).RegisteredAt

	agent.close()
	c.pass(100 * 24 * time.Hour)
	agent.cfg.Join, agent.cfg.JoinToken = "", ""
	if err := agent.start(); !errors.Is(err, pki.ErrNoCertificate) {
		t.Errorf("without a token: %v", err)
	}
	agent.cfg.Join, agent.cfg.JoinToken = p.leader().where, p.joinToken()
	if err := agent.start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is back", func() bool { return p.leader().member.Connected(agent.cfg.HostID) })
	if host := p.view().Host(agent.cfg.HostID); !host.RegisteredAt.Equal(registered) {
		t.Errorf("it came back as another host: %+v", host)
	}
	task := p.run(agent)
	eventually(t, "it runs tasks", func() bool { return agent.agent.runs(task.ID) })
}

// Whoever has once had the key of the CA has a certificate for every host, so only the key that a host was admitted with proves who
// it is, also that of the host that began the pool.
func TestAHostProvesByItsKeyWhoItIs(t *testing.T) {
	p := newPool(t)
	first := p.found(nil)
	second := p.join(1)[0]
	eventually(t, "the host is known", func() bool { return p.view().Host(second.cfg.HostID) != nil })
	token, err := admission.ParseToken(p.joinToken())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(host *testHost, id *pki.Identity) error {
		request, err := id.NewRequest()
		if err != nil {
			t.Fatal(err)
		}
		_, err = first.member.localServer().authority.AdmitHost(t.Context(), admission.JoinRequest{HostID: host.cfg.HostID, TokenID: token.ID, Secret: token.Secret, CSR: request})
		return err
	}
	changed, err := pki.OpenJoining(filepath.Join(t.TempDir(), "pki"), second.cfg.HostID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]struct {
		host *testHost
		id   *pki.Identity
		good bool
	}{
		"another key": {second, changed, false}, "the first host's name": {first, changed, false}, "another host's key": {first, second.cfg.Identity, false},
		"its key": {second, second.cfg.Identity, true}, "the first host": {first, first.cfg.Identity, true},
	} {
		if err := ask(k.host, k.id); (err == nil) != k.good || err != nil && !errors.Is(err, spec.ErrInUse) {
			t.Errorf("%s: %v", name, err)
		}
	}
	second.close()
	if err := first.member.Hosts.RemoveHost(t.Context(), second.cfg.HostID, true); err != nil {
		t.Fatal(err)
	}
	if err := ask(second, second.cfg.Identity); !errors.Is(err, spec.ErrRemoved) {
		t.Errorf("a removed host: %v", err)
	}
}
