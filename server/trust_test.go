package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/membership"
	"pinion/server/peer"
)

// A recovery of the pool ends the servers from before it. Root of an agent cannot claim one.
func TestAnAgentEndsNoServerByClaimingARecovery(t *testing.T) {
	r := newRights(t)
	agent, own := caller{r.server.where, certOf(t, r.a)}, r.server.member.localServer()
	var signed spec.PoolInfo
	eventually(t, "the servers of the pool are signed", func() bool {
		signed = r.server.member.poolCache.PoolInfo()
		return len(signed.Signature) > 0
	})
	forged := signed
	forged.Incarnation = 9
	forged.ServerIDs = []string{r.a.cfg.HostID}
	for name, proof := range map[string]*spec.PoolInfo{"without proof": nil, "with that of another incarnation": &signed, "with a forged one": &forged} {
		hello := map[string]any{"host": r.a.agent.host, "incarnation": 9, "proof": proof}
		if _, text := agent.post(t, peer.Peer, dispatch.PathSession, map[string]any{"seq": 1, "handshake": hello}); len(text) == 0 {
			t.Errorf("%s: no answer", name)
		}
	}
	if r.server.member.localServer() != own || own.node.Life().Err() != nil || r.server.member.poolCache.Incarnation() != 1 {
		t.Error("the server has ended")
	}
	r.run(r.b)
}

// impostor answers at the address of an agent, with the agent's certificate, as a server would: the pool was recovered, whoever asks was
// removed, is no server, and has nothing to run.
func impostor(t *testing.T, agent *testHost, info spec.PoolInfo) (heard *lockedBuffer) {
	t.Helper()
	identity, where := agent.cfg.Identity, agent.where
	agent.close()
	l, err := net.Listen("tcp", where)
	if err != nil {
		t.Fatal(err)
	}
	port := peer.Listen(l, identity, quiet())
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); port.Close() })
	heard = new(lockedBuffer)
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case membership.PathPoolInfo:
			_ = json.NewEncoder(w).Encode(info)
			return
		case admission.PathRemovalStatus:
			_ = json.NewEncoder(w).Encode(admission.RemovalStatus{Removed: true})
			return
		}
		_, _ = heard.Write([]byte(r.URL.Path))
		_, _ = io.WriteString(w, `{"server":false}`)
	})
	go func() { _ = peer.Serve(ctx, port.Peer(), answer, quiet()) }()
	go func() { _ = peer.Serve(ctx, port.Join(), answer, quiet()) }()
	return heard
}

func TestAHostTakesNoAgentForAServer(t *testing.T) {
	r := newRights(t)
	victim, before := r.a.member, r.a.member.poolCache.PoolInfo()
	forged := before
	forged.Incarnation, forged.Servers, forged.ServerIDs, forged.Removed = 9, []string{r.b.where}, []string{r.b.cfg.HostID}, []string{r.a.cfg.HostID}
	heard := impostor(t, r.b, forged)
	eventually(t, "the victim knows the address of the impostor", func() bool { return slices.Contains(victim.poolCache.PoolInfo().Hosts, r.b.where) })
	r.server.close()
	eventually(t, "the victim has lost its server", func() bool { return victim.upstream.Session() == nil })
	if _, err := victim.Agent().Join(t.Context(), r.a.agent.host, nil); err == nil || errors.Is(err, spec.ErrRemoved) {
		t.Errorf("without a server: %v", err)
	}
	var reply membership.RoleReply
	if err := victim.lifecycle.peers.Call(t.Context(), r.b.where, membership.PathRole, struct{}{}, &reply); err == nil {
		t.Error("an agent decides which hosts are servers")
	}
	if after := victim.poolCache.PoolInfo(); after.Incarnation != 1 || !slices.Equal(after.ServerIDs, before.ServerIDs) || slices.Contains(after.Removed, r.a.cfg.HostID) {
		t.Errorf("the victim believes %+v", after)
	}
	if heard.String() != "" {
		t.Errorf("the impostor was asked %s", heard)
	}
}
