package membership

import (
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

// A server that lags tells of an older list. What a host has heard of later lists stays, until the pool is recovered.
func TestTheNewestListOfServersIsRemembered(t *testing.T) {
	signed := func([]byte, []byte) bool { return true }
	path := filepath.Join(t.TempDir(), "servers.json")
	list := func(incarnation int, index uint64, servers ...string) spec.PoolInfo {
		return spec.PoolInfo{Pool: "p", Incarnation: incarnation, Index: index, Servers: []string{"127.0.0.1:1"}, ServerIDs: servers}
	}
	update := func(o spec.PoolInfo) *PoolCache {
		cache, err := OpenPoolCache(path)
		if err == nil {
			_, _, err = cache.Update(o)
		}
		if err != nil {
			t.Fatal(err)
		}
		return cache
	}
	update(list(1, 20, "a", "b"))
	update(list(1, 10, "a", "former"))
	cache := update(list(1, 15, "a", "b"))
	for name, c := range map[string]struct {
		list spec.PoolInfo
		want bool
	}{
		"an older one":                 {list(1, 19, "a", "former"), false},
		"an older one, without places": {spec.PoolInfo{Pool: "p", Incarnation: 1, Index: 19, ServerIDs: []string{"former"}}, false},
		"the same, with new addresses": {list(1, 10, "a", "b"), true},
		"a later one":                  {list(1, 21, "b", "c"), true},
		"one after a recovery":         {list(2, 3, "c"), true},
	} {
		if _, ok := cache.VerifiedPoolInfo(c.list, signed); ok != c.want {
			t.Errorf("%s: %t", name, ok)
		}
	}
	if _, ok := update(list(2, 3, "c")).VerifiedPoolInfo(list(2, 4, "d"), signed); !ok {
		t.Error("indexes from before a recovery count after it")
	}
}

// What a server tells whose log is older than the known list says who leads. Neither the servers nor their keys go back: a server that was
// away could not reach the others any more.
func TestAServerThatLagsSaysWhoLeadsAndNothingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.json")
	cache, err := OpenPoolCache(path)
	if err != nil {
		t.Fatal(err)
	}
	told := func(o spec.PoolInfo) spec.PoolInfo {
		t.Helper()
		if accepted, _, err := cache.Update(o); err != nil || !accepted {
			t.Fatal(accepted, err)
		}
		return cache.PoolInfo()
	}
	told(spec.PoolInfo{Pool: "p", Incarnation: 1, Index: 20, Servers: []string{"1"}, ServerIDs: []string{"new"}, Keys: map[string]string{"new": "k"}, Removed: []string{"gone"}})
	after := told(spec.PoolInfo{Pool: "p", Incarnation: 1, Index: 19, Leader: "1", Servers: []string{"2"}, ServerIDs: []string{"old"}})
	if after.Leader != "1" || !slices.Equal(after.Servers, []string{"1"}) || !cache.IsServer("new") || cache.Key("new") != "k" || !cache.IsRemoved("gone") {
		t.Errorf("%+v", after)
	}
	after = told(spec.PoolInfo{Pool: "p", Incarnation: 1, Index: 5, Servers: []string{"3"}, ServerIDs: []string{"new"}})
	if !slices.Equal(after.Servers, []string{"3"}) || after.Index != 20 || cache.Key("new") != "k" {
		t.Errorf("the same servers at another address: %+v", after)
	}
}

// The servers of a pool change from entry to entry of its log. In whatever order and however often a host hears of them, with restarts in
// between, it knows those of the latest entry that it has heard of, and every key that it was told of them.
func TestListsOfServersAreHeardInAnyOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "servers.json")
	rapid.Check(t, func(r *rapid.T) {
		servers := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 5, rapid.ID)
		history := rapid.SliceOfN(servers, 1, 6).Draw(r, "history")
		cache, latest, keys := &PoolCache{path: path}, 0, map[string]bool{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, len(history)-1), 1, 20).Draw(r, "heard") {
			list := spec.PoolInfo{Pool: "p", Incarnation: 1, Servers: []string{"x"}, ServerIDs: history[n], Keys: map[string]string{}}
			list.Index = uint64(10*n + rapid.IntRange(1, 10).Draw(r, "first seen at"))
			for _, id := range history[n] {
				if rapid.Bool().Draw(r, "the key is told") {
					list.Keys[id] = "key of " + id
				}
			}
			if n >= latest || slices.Equal(history[n], history[latest]) {
				latest = max(latest, n)
				known := keys
				keys = map[string]bool{}
				for _, id := range history[n] {
					keys[id] = known[id] || list.Keys[id] != ""
				}
			}
			_, _, err := cache.Update(list)
			if err == nil {
				cache, err = OpenPoolCache(path)
			}
			if err != nil {
				r.Fatal(err)
			}
			if got := cache.PoolInfo(); !slices.Equal(got.ServerIDs, history[latest]) {
				r.Fatalf("after list %d of %v: %v", n, history, got.ServerIDs)
			}
			for id, told := range keys {
				if (cache.Key(id) != "") != told {
					r.Fatalf("the key of %s is %q", id, cache.Key(id))
				}
			}
		}
	})
}
