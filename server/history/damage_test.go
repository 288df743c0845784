package history

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"pinion/raftfsm/ended"
)

var damages = flag.Int("damages", 24, "how many files of a history are damaged, each in another way")

// damagedTasks are those of the file that is damaged: enough for pages that lead to pages.
const damagedTasks = 6000

// original is a file with tasks of a pool called p, and where its blocks are.
type original struct {
	file   []byte
	blocks map[key][2]int // where the page begins, where the block ends
	tasks  map[key][]string
}

func newOriginal(t *testing.T) original {
	t.Helper()
	s := fill(t, damagedTasks)
	if err := s.Add(nil, func(m *meta) { m.Cursor.Pool = "p" }); err != nil {
		t.Fatal(err)
	}
	o := original{blocks: map[key][2]int{}, tasks: map[key][]string{}}
	err := s.view(func(tx *bbolt.Tx) error {
		var file bytes.Buffer
		_, err := tx.WriteTo(&file)
		o.file = file.Bytes()
		return errors.Join(err, tx.Bucket(bucketBlocks).ForEach(func(k, block []byte) error {
			at := bytes.Index(o.file, block)
			page := at / pageStep
			for !bytes.Equal(o.file[page*pageStep:][:8], pageID(page)) || o.file[page*pageStep+8] != kindLeaf {
				page--
			}
			o.blocks[toKey(k)] = [2]int{page * pageStep, at + len(block)}
			records, err := s.codec.decode(block)
			for _, r := range records {
				o.tasks[toKey(k)] = append(o.tasks[toKey(k)], r.task.Task.ID)
			}
			return err
		}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func pageID(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), 0, 0, 0, 0, 0} }

// damage changes a copy of the file between from and to, and says how.
func (o original) damage(r *rand.Rand, n int) (file []byte, from, to int, how string) {
	file = bytes.Clone(o.file)
	from = r.IntN(len(file))
	pages := len(file) / pageStep
	switch n % 6 {
	case 0:
		file[from] ^= 1 << r.IntN(8)
		return file, from, from + 1, "a flipped bit"
	case 1:
		return file[:from], from, len(o.file), "a cut"
	case 2:
		from = from / 512 * 512
		clear(file[from : from+512])
		return file, from, from + 512, "a lost sector"
	case 3: // in the header or table of a page
		from = r.IntN(pages)*pageStep + r.IntN(64)
		file[from] ^= 1 << r.IntN(8)
		return file, from, from + 1, "a flipped bit in a header"
	case 4:
		from = r.IntN(pages) * pageStep
		copy(file[from:], file[r.IntN(pages)*pageStep:][:pageStep])
		return file, from, from + pageStep, "a page in place of another"
	}
	from = from / pageStep * pageStep
	for i := range file[from : from+pageStep] {
		file[from+i] = byte(r.Uint32())
	}
	return file, from, from + pageStep, "noise in place of a page"
}

// A file is damaged in many ways: whoever opens and uses it is told, or gets what was in it, and never ends. Every block that the damage
// did not touch is taken over into a new store, and nothing else.
func TestWhatIsReadableOfADamagedFileIsTakenOver(t *testing.T) {
	o, seed, noticed := newOriginal(t), rand.Uint64(), 0
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for n := range *damages {
		file, from, to, how := o.damage(r, n)
		how = fmt.Sprintf("%s from %d to %d", how, from, to)
		path := filepath.Join(t.TempDir(), "history.db")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := useDamaged(path); errors.Is(err, ErrDamaged) {
			noticed++
		} else if err != nil {
			t.Errorf("%s: %v", how, err)
		}
		o.checkSalvaged(t, file, from, to, how)
	}
	t.Logf("%d of %d damages were noticed in use", noticed, *damages)
}

// useDamaged asks a store everything and writes to it.
func useDamaged(path string) (err error) {
	s, err := OpenStore(path)
	if err != nil {
		return err
	}
	s.db.NoSync = true
	for q := (ended.Query{Limit: ended.MaxPage}); ; {
		page, err := s.Find(q)
		if err != nil {
			return err
		}
		for _, task := range page.Tasks[:min(len(page.Tasks), 1)] {
			if found, err := s.Task(task.Task.ID); err != nil || found == nil {
				return errors.Join(err, fmt.Errorf("task %s is listed and not found by its id: %w", task.Task.ID, ErrDamaged))
			}
		}
		if q.Page = page.Next; q.Page == "" {
			break
		}
	}
	_, usageErr := s.Usage(ended.UsageQuery{By: ended.Dimensions})
	_, idsErr := s.IDs("0", 100)
	addErr := s.Add([]ended.Task{endedAt(damagedTasks, epoch.Add(30*24*time.Hour), time.Hour), endedAt(damagedTasks+1, epoch, time.Hour)}, nil)
	_, pruneErr := s.Prune(Limits{Count: damagedTasks / 2}, epoch)
	if err := errors.Join(usageErr, idsErr, addErr, pruneErr); err != nil {
		return err
	}
	return s.Close()
}

// checkSalvaged takes over what is readable of a damaged file.
func (o original) checkSalvaged(t *testing.T, file []byte, from, to int, how string) {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "history.db"))
	defer s.Close()
	if _, err := s.salvage(t.Context(), bytes.NewReader(file), int64(len(file)), "p"); errors.Is(err, errForeign) {
		if bytes.Contains(file, []byte(`"pool":"p"`)) && from/pageStep != bytes.Index(o.file, []byte(`"pool":"p"`))/pageStep {
			t.Errorf("%s: %v", how, err)
		}
		return
	} else if err != nil {
		t.Errorf("%s: %v", how, err)
		return
	}
	kept := map[string]bool{}
	for _, task := range all(t, s, ended.Query{Limit: ended.MaxPage}) {
		kept[task.Task.ID] = true
	}
	for k, at := range o.blocks {
		whole := to <= at[0] || from >= at[1]
		lost := slices.ContainsFunc(o.tasks[k], func(id string) bool { return !kept[id] })
		if whole && lost {
			t.Errorf("%s: the block from %d to %d was not touched and is lost", how, at[0], at[1])
		}
	}
	if usage, err := s.Usage(ended.UsageQuery{}); err != nil || len(usage.Rows) > 0 && usage.Rows[0].Tasks != int64(len(kept)) || len(kept) > damagedTasks {
		t.Errorf("%s: %+v, %v: %d tasks are kept", how, usage, err, len(kept))
	}
}

func TestAFileOfAnotherPoolIsNotTakenOver(t *testing.T) {
	o := newOriginal(t)
	s := open(t, filepath.Join(t.TempDir(), "history.db"))
	defer s.Close()
	if _, err := s.salvage(t.Context(), bytes.NewReader(o.file), int64(len(o.file)), "q"); !errors.Is(err, errForeign) {
		t.Errorf("%v", err)
	}
	if kept := all(t, s, ended.Query{}); len(kept) != 0 {
		t.Errorf("%d tasks of another pool", len(kept))
	}
}

// A page that leads back to itself would be followed for ever.
func TestAFileThatLeadsInCirclesIsRefused(t *testing.T) {
	o := newOriginal(t)
	r, err := readRoot(bytes.NewReader(o.file))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := 0; at < len(o.file); at += pageStep {
		p := page(o.file[at:])
		if p.kind() != kindBranch || !bytes.Equal(p[:8], pageID(at/pageStep)) || p.id() >= r.end {
			continue
		}
		file := bytes.Clone(o.file)
		copy(file[at+pageHeader+8:], p[:8]) // its first element leads to itself
		path := filepath.Join(t.TempDir(), fmt.Sprint(at))
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := useDamaged(path); errors.Is(err, ErrDamaged) {
			refused++
		} else if err != nil { // the page is a free one
			t.Errorf("page %d: %v", at/pageStep, err)
		}
	}
	if refused == 0 {
		t.Error("no page leads to others")
	}
	if err := verify(filepath.Join(t.TempDir(), "none")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
