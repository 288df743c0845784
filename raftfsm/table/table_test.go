package table

import (
	"iter"
	"strings"
	"testing"

	"pinion/raftfsm/sortkey"
)

type word struct{ text string }

// words are tables of words, one of them with the given ones.
func words(t *testing.T, all ...string) (here, other *Table[word], index *Index[word], v Versions) {
	t.Helper()
	index = By(func(w *word) string { return w.text })
	here, other = New("words", index), New("other words", By(func(w *word) string { return w.text }))
	other.SetPosition(1)
	var objects []any
	for _, text := range all {
		objects = append(objects, &word{text})
	}
	return here, other, index, Load([]Any{here, other}, [][]any{objects, nil})
}

func text(visited iter.Seq[*word]) string {
	var all []string
	for w := range visited {
		all = append(all, w.text)
	}
	return strings.Join(all, " ")
}

// A command may change a table while it visits it, and has perhaps changed it before.
func TestAVisitSeesTheObjectsFromBefore(t *testing.T) {
	for name, changedBefore := range map[string]bool{"first change": false, "later change": true} {
		t.Run(name, func(t *testing.T) {
			here, _, index, v := words(t, "a", "b", "c")
			tx := Begin(&v)
			if changedBefore {
				tx.Put(here, &word{"c"})
			}
			visits := map[string]iter.Seq[*word]{"All": index.All(&v), "Scan": index.Scan(&v, "b")}
			tx.Remove(here, &word{"b"})
			tx.Put(here, &word{"aa"})
			if all, scan := text(visits["All"]), text(visits["Scan"]); all != "a b c" || scan != "b" {
				t.Errorf("All is %q, Scan is %q", all, scan)
			}
			if now := text(index.All(&v)); now != "a aa c" || index.Len(&v) != 3 {
				t.Errorf("after the changes: %q, %d objects", now, index.Len(&v))
			}
		})
	}
}

// Most commands read tables that they do not change: a visit of one costs no copy of it.
func TestAVisitCopiesNoTableThatItsTransactionHasNotChanged(t *testing.T) {
	here, other, index, v := words(t, "a")
	tx := Begin(&v)
	tx.Put(other, &word{"x"})
	visit := func() { text(index.Seek(&v, sortkey.Lowest("none"))); index.All(&v) }
	shared := testing.AllocsPerRun(100, visit)
	tx.Put(here, &word{"b"})
	if copied := testing.AllocsPerRun(100, visit); copied <= shared {
		t.Errorf("a visit allocates %v objects, and %v once the table is changed", shared, copied)
	}
}
