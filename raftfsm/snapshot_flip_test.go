package raftfsm

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"testing"
)

var flips = flag.Int("flips", 500, "how many bits of a snapshot are flipped, and how many times it is cut, or a sector of it is another")

// Whatever happens to a snapshot on a disk, it is refused and the state stays as it was.
func TestADamagedSnapshotIsRefused(t *testing.T) {
	h := everything(t)
	good := h.snapshot(t)
	random := rand.New(rand.NewPCG(1, 2))
	damages := map[string]func() []byte{
		"a bit is flipped": func() []byte {
			b := bytes.Clone(good)
			b[random.IntN(len(b))] ^= 1 << random.IntN(8)
			return b
		},
		"it is cut": func() []byte { return good[:random.IntN(len(good))] },
		"a sector is missing": func() []byte {
			b, at := bytes.Clone(good), 512*random.IntN((len(good)+511)/512)
			clear(b[at:min(at+512, len(b))])
			return b
		},
	}
	for what, damage := range damages {
		for range *flips {
			damaged := damage()
			err := h.Restore(bytes.NewReader(damaged))
			if err == nil && !bytes.Equal(damaged, good) {
				t.Fatalf("%s at byte %d of %d: it was taken", what, firstDifference(damaged, good), len(good))
			}
		}
		if !bytes.Equal(good, h.snapshot(t)) {
			t.Fatalf("%s: the state has changed", what)
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// A log entry that was damaged where no checksum sees it, in memory, is refused or another valid command: it never ends the
// process, and every server decodes the same bytes alike.
func TestADamagedEntryNeverPanics(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	h := everything(t)
	entries, good := h.log, h.snapshot(t)
	for range *flips {
		entry := bytes.Clone(entries[random.IntN(len(entries))])
		for range 1 + random.IntN(3) {
			entry[random.IntN(len(entry))] ^= 1 << random.IntN(8)
		}
		one, err := Decode(entry)
		two, again := Decode(entry)
		if (err == nil) != (again == nil) {
			t.Fatalf("%x: %v and %v", entry, err, again)
		}
		if err != nil {
			continue
		}
		first, second := restored(t, good), restored(t, good)
		_, err = first.Apply(first.View().Index()+1, one)
		_, again = second.Apply(second.View().Index()+1, two)
		if (err == nil) != (again == nil) || !bytes.Equal(snapshotOf(t, first), snapshotOf(t, second)) {
			t.Fatalf("%x: %v and %v", entry, err, again)
		}
	}
}
