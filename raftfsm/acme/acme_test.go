package acme_test

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/acme"
	"pinion/raftfsm/raftfsmtest"
)

// Sealing anew takes a while: what hosts have put and administrators have deleted meanwhile is neither overwritten nor brought back.
func TestSealingAnewBringsNothingBack(t *testing.T) {
	s := raftfsmtest.New(t)
	item := func(key, sealed string, minute int) acme.Item {
		return acme.Item{Key: key, Sealed: []byte(sealed), Seal: "key", PutAt: raftfsmtest.At(minute)}
	}
	s.Do(raftfsm.Wrap(acme.Put{Items: []acme.Item{item("same", "old", 1), item("renewed", "old", 1), item("deleted", "old", 1)}}))
	s.Do(raftfsm.Wrap(acme.Put{Items: []acme.Item{item("renewed", "new", 2)}}))
	s.Do(raftfsm.Wrap(acme.Delete{Key: "deleted"}))

	s.Do(raftfsm.Wrap(acme.Put{Resealed: true, Items: []acme.Item{item("same", "sealed anew", 1), item("renewed", "sealed anew", 1), item("deleted", "sealed anew", 1)}}))
	s.Do(raftfsm.Wrap(acme.Delete{Key: "renewed", PutAt: raftfsmtest.At(1)}))
	for key, want := range map[string]string{"same": "sealed anew", "renewed": "new", "deleted": ""} {
		got := ""
		if found := acme.Find(s.View(), key); found != nil {
			got = string(found.Sealed)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
