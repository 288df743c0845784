package server

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/membership"
	"pinion/server/pki"
)

// A host that was a server once has a list that says so, signed by the pool's CA. Whoever has heard of a later one does not believe it any more,
// after a restart neither; whoever has not believes the later one.
func TestAnOlderListOfServersIsNotBelieved(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	agents := p.join(2)
	victim, newcomer, former := agents[0], agents[1], p.followers()[0]
	lists := func(has, lacks *testHost, change func()) (list spec.PoolInfo) {
		eventually(t, "the victim has a signed list", func() bool {
			change()
			list = victim.member.poolCache.PoolInfo()
			return len(list.Signature) > 0 && slices.Contains(list.ServerIDs, has.cfg.HostID) && !slices.Contains(list.ServerIDs, lacks.cfg.HostID)
		})
		return list
	}
	older := lists(former, newcomer, func() {})
	before := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(before, readFile(t, filepath.Join(victim.dir, "servers.json")), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the newcomer is known", func() bool { return p.view().Host(newcomer.cfg.HostID) != nil })
	later := lists(newcomer, former, func() { // again and again: the leader corrects the number of servers
		apply(t, p.leader().member.localServer(), raftfsm.SetServerRole{ID: newcomer.cfg.HostID, Server: true})
		apply(t, p.leader().member.localServer(), raftfsm.SetServerRole{ID: former.cfg.HostID})
	})
	believes := func(path string, list spec.PoolInfo) bool {
		cache, err := membership.OpenPoolCache(path)
		if err != nil {
			t.Fatal(err)
		}
		proven, ok := cache.VerifiedPoolInfo(list, func(text, signature []byte) bool {
			return pki.VerifyText(victim.cfg.Identity, text, signature, list.CA)
		})
		return ok && slices.Equal(proven.ServerIDs, list.ServerIDs)
	}
	if _, ok := victim.member.lifecycle.pool.VerifiedPoolInfo(older); ok {
		t.Error("the victim believes the older list")
	}
	if believes(filepath.Join(victim.dir, "servers.json"), older) {
		t.Error("the victim believes the older list after a restart")
	}
	if !believes(before, older) || !believes(before, later) {
		t.Error("who has not heard of the later list does not believe what is signed")
	}
	forged := older
	forged.Index = later.Index + 1
	if believes(before, forged) {
		t.Error("the index is not signed")
	}
}
