package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"slices"
	"sync"
	"testing"

	"pinion/server/admission"
	"pinion/server/peer"
)

// reported remembers the refusals that a host reports.
type reported struct {
	mu  sync.Mutex
	all []peer.Refusal
}

func (r *reported) report(refusal peer.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, refusal)
}

// has reports whether an operation was refused to a host, with an address and a reason.
func (r *reported) has(operation peer.Operation, hostID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.all, func(one peer.Refusal) bool {
		return one.Operation == operation && one.HostID == hostID && one.Address != "" && one.Reason != nil
	})
}

// Every way in which somebody is turned away between hosts leaves a word.
func TestWhatIsRefusedBetweenHostsIsReported(t *testing.T) {
	p := newPool(t)
	var refusals reported
	server := p.found(nil)
	server.port.SetRefusals(refusals.report)
	agent := p.join(1)[0]
	id := agent.cfg.HostID
	eventually(t, "the agent is known", func() bool { return p.view().Host(id) != nil })
	refusals.mu.Lock()
	if len(refusals.all) > 0 {
		t.Errorf("hosts that are let in: %+v", refusals.all)
	}
	refusals.mu.Unlock()
	calling := caller{server.where, certOf(t, agent)}

	token := []byte(p.joinToken())
	token[len(token)-1] ^= 1
	wrong := p.host(func(c *MemberConfig) { c.Join, c.JoinToken = server.where, string(token) })
	if err := wrong.start(); err == nil || !refusals.has(peer.OpJoin, wrong.cfg.HostID) {
		t.Errorf("a join with a wrong token: %v, %+v", err, refusals.all)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if calling.post(t, peer.Peer, admission.PathRenew, requestFor(t, other)); !refusals.has(peer.OpRenew, id) {
		t.Errorf("a renewal for another key: %+v", refusals.all)
	}
	if calling.post(t, peer.Peer, admission.PathKeyring, struct{}{}); !refusals.has(peer.OpCall, id) {
		t.Errorf("an agent that asks for the sealing keys: %+v", refusals.all)
	}
	clone := p.clone(agent)
	p.start(clone)
	if clone.waitRefused("the host runs at " + agent.where); !refusals.has(peer.OpRegister, id) {
		t.Errorf("a clone: %+v", refusals.all)
	}
	if err := server.member.Hosts.RemoveHost(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	calling.post(t, peer.Peer, admission.PathRenew, requestFor(t, other))
	eventually(t, "the connection of a removed host is reported", func() bool { return refusals.has(peer.OpConnect, id) }) // it is cut off first
}
