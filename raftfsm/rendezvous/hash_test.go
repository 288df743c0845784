package rendezvous_test

import (
	"testing"

	"pinion/raftfsm/rendezvous"
)

// Hosts of different versions agree on a choice only while the hashes stay what they are.
func TestHashesAreTheSameInEveryVersion(t *testing.T) {
	for text, want := range map[string]uint64{"": 0xefd01f60ba992926, "a": 0x82a2a958a9bece5b, "sha256:1 h1": 0x10f6ff8874114e2} {
		if got := rendezvous.Hash(text); got != want {
			t.Errorf("%q: %#x, not %#x", text, got, want)
		}
	}
}
