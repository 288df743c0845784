package server

import (
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/team"
)

// A request that one leader has carried out must not be carried out again by the next one, which was never asked.
func TestTheNextLeaderKnowsTheSignaturesThatWereUsed(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	leader := p.leader()
	definition := define(t, leader.member.localServer(), 0)
	now := time.Now()
	created, ran, queued, refused := spec.Signature{1}, spec.Signature{2}, spec.Signature{3}, spec.Signature{4}
	if _, err := whileNotLeading(t, func() (any, error) {
		return leader.member.Propose(spec.WithSignatures(t.Context(), created), raftfsm.Wrap(team.Put{Team: team.Team{Name: "vision", Weight: 1}}))
	}); err != nil {
		t.Fatal(err)
	}
	for signature, provider := range map[spec.Signature]string{ran: "", queued: spec.BuiltinCapacityProvider} {
		run := spec.RunRequest{Cluster: spec.DefaultCluster, Definition: definition, Count: 1, CapacityProvider: provider}
		result, err := whileNotLeading(t, func() (spec.RunResult, error) {
			return leader.member.Run(spec.WithSignatures(t.Context(), signature), run)
		})
		if err != nil || len(result.Tasks) != 1 {
			t.Fatal(result, err)
		}
	}
	if _, err := leader.member.Propose(spec.WithSignatures(t.Context(), refused), raftfsm.Wrap(team.Delete{Name: "unknown"})); err == nil {
		t.Fatal("an unknown team was deleted")
	}
	leader.close()
	var next *testHost
	eventually(t, "another leader answers", func() bool {
		next = p.leader()
		_, err := next.member.View(t.Context())
		return err == nil && next != leader
	})
	for signature, used := range map[spec.Signature]bool{created: true, ran: true, queued: true, refused: false, {5}: false} {
		if got := next.member.SignatureUsed(signature, now); got != used {
			t.Errorf("signature %d: used is %t", signature[0], got)
		}
	}
}
