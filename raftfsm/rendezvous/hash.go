// Package rendezvous has the hashes by which every host chooses the same one of several places for a key (rendezvous hashing): the place whose
// hash together with the key is the highest. They are the same on every host and in every version.
package rendezvous

import (
	"hash/fnv"
	"io"
)

// Hash is the hash of a text: FNV-1a, mixed.
func Hash(text string) uint64 {
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, text)
	return Mix(sum.Sum64())
}

// Mix has each bit depend on all (the finalizer of MurmurHash3): those of FNV-1a of texts that differ in their last letters alone are close to
// one another.
func Mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
