package membership

import (
	"path/filepath"
	"testing"

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
		"the same, with new addresses": {list(1, 10, "a", "b"), true},
		"a later one":                  {list(1, 21, "b", "c"), true},
		"one after a recovery":         {list(2, 3, "c"), true},
	} {
		if _, ok := cache.Proven(c.list, signed); ok != c.want {
			t.Errorf("%s: %t", name, ok)
		}
	}
	if _, ok := update(list(2, 3, "c")).Proven(list(2, 4, "d"), signed); !ok {
		t.Error("indexes from before a recovery count after it")
	}
}
