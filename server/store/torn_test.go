package store

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
)

var torn = flag.Int("torn", 15, "how many commits are torn at each of their sectors, and as often at a random set of them")

// sector is what a disk writes whole.
const sector = 512

// The machine loses power in the middle of a commit: of what bolt writes before each of its two syncs any sectors may be on the disk
// and the others not. Afterwards the log is what it was before the commit, or what it was to be, and never refused.
func TestATornCommitIsAWholeOneOrNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raft.db")
	s, err := Open(options(path))
	if err != nil {
		t.Fatal(err)
	}
	random, next, images := rand.New(rand.NewPCG(1, 2)), uint64(1), 0
	if err := s.StoreLog(&raft.Log{Index: next, Term: 2}); err != nil {
		t.Fatal(err)
	}
	next++
	for range *torn {
		before := image(t, path)
		next = commitSomething(t, s, random, next)
		after := image(t, path)
		for _, written := range commitWrites(before, after) {
			images += written.tear(t, random)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images of torn commits were read", images)
}

// commitSomething makes a commit of one of the kinds that Raft makes, and returns the index that comes next.
func commitSomething(t *testing.T, s *Store, random *rand.Rand, next uint64) uint64 {
	t.Helper()
	var err error
	first, _ := s.FirstIndex()
	switch kind := random.IntN(10); {
	case kind == 0 && next > 1:
		err = s.SetUint64([]byte("CurrentTerm"), random.Uint64())
	case next-first > 60 || kind == 1 && next-first > 20: // compaction
		err = s.DeleteRange(first, next-10)
	case kind == 2 && next-first > 20: // a follower's conflict
		from := next - 1 - random.Uint64N(5)
		err, next = s.DeleteRange(from, next-1), from
	default:
		var logs []*raft.Log
		for range 1 + random.IntN(8) {
			logs = append(logs, &raft.Log{Index: next, Term: 2, Data: bytes.Repeat([]byte{byte(next)}, random.IntN(1500))})
			next++
		}
		err = s.StoreLogs(logs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func image(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// writes is what a commit writes before one of its syncs.
type writes struct {
	base, to []byte
	changed  []int // sectors
}

// commitWrites are the two writes of a commit: first the pages, then one of the two meta pages at the beginning of the file.
func commitWrites(before, after []byte) []writes {
	before = append(bytes.Clone(before), make([]byte, max(0, len(after)-len(before)))...)
	metas := 2 * os.Getpagesize()
	pages := append(bytes.Clone(before[:metas]), after[metas:]...)
	return []writes{{before, pages, changedSectors(before, pages)}, {pages, after, changedSectors(pages, after)}}
}

func changedSectors(a, b []byte) (changed []int) {
	for at := 0; at < len(b); at += sector {
		if !bytes.Equal(a[at:at+sector], b[at:at+sector]) {
			changed = append(changed, at)
		}
	}
	return changed
}

// tear reads the file as it is after each number of sectors in order, and after a random set of them.
func (w writes) tear(t *testing.T, random *rand.Rand) (images int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "raft.db")
	must(t, os.WriteFile(path, w.base, 0o600))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer file.Close()
	write := func(from []byte, at int) {
		_, err := file.WriteAt(from[at:at+sector], int64(at))
		must(t, err)
	}
	read := func() (string, error) {
		images++
		if err := verify(path); err != nil {
			return "", err
		}
		return content(path)
	}
	all := make([]string, len(w.changed)+1) // what is read after each number of sectors
	for n := range all {
		if n > 0 {
			write(w.to, w.changed[n-1])
		}
		if all[n], err = read(); err != nil {
			t.Fatalf("%d of %d sectors: %v", n, len(w.changed), err)
		}
	}
	before, after := all[0], all[len(all)-1]
	for n, got := range all {
		if got != before && got != after {
			t.Errorf("%d of %d sectors:\n%s", n, len(w.changed), got)
		}
	}
	for _, at := range w.changed {
		if random.IntN(2) == 0 {
			write(w.base, at)
		}
	}
	if got, err := read(); err != nil || got != before && got != after {
		t.Errorf("some sectors: %v\n%s", err, got)
	}
	return images
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
