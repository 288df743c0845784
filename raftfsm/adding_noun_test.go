package raftfsm

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// window is the noun of docs/adding-a-noun.md: hours in which a cluster is maintained. All but windowChange and the descriptor uses nothing of
// package raftfsm, so it could be a package below.
type window struct {
	Name      string     `json:"name"`
	Cluster   string     `json:"cluster"`
	Note      string     `json:"note,omitempty"`
	Tags      []spec.Tag `json:"tags,omitempty"`
	DeletedAt time.Time  `json:"deletedAt,omitzero"` // zero while it is in force
}

const windowChange ChangeKind = "window"

var (
	tableWindows = register(noun[window]{
		table: "windows", indexes: indexes(windowsByName), refersTo: []string{"clusters"},
		commands: []kind{wrappedKindOf[createWindow](240, 1), wrappedKindOf[updateWindow](241, 1), wrappedKindOf[deleteWindow](242, 1)},
		changes: func(_, after *window) []*Change {
			if after == nil {
				return nil // it was deleted before
			}
			return []*Change{{Kind: windowChange, ClusterName: after.Cluster, Object: after, Deleted: !after.DeletedAt.IsZero()}}
		},
		emits: []ChangeKind{windowChange},
		expired: func(v *View, r Reap) iter.Seq[*window] {
			return windowsByName.Matching(v, func(w *window) bool { return !w.DeletedAt.IsZero() && w.DeletedAt.Before(r.Before) })
		},
		keepsCluster: func(v *View, cluster string) error {
			for w := range windowsByName.All(v) {
				if w.Cluster == cluster && w.DeletedAt.IsZero() {
					return fmt.Errorf("%w: window %s is of it: delete it first", spec.ErrInUse, w.Name)
				}
			}
			return nil
		},
		tags: &tagging[window]{
			kind: "window", find: inView(findWindow), tags: func(w *window) *[]spec.Tag { return &w.Tags },
			readOnly: func(w *window) error { return inactiveIf(!w.DeletedAt.IsZero(), "window", w.Name) },
		},
	})
	windowsByName = table.By(func(w *window) string { return w.Name })
)

// findWindow returns a window; nil when the name is unknown.
func findWindow(r table.Reader, name string) *window {
	return windowsByName.Get(r, sortkey.Key{First: name})
}

// createWindow records a window. ErrInUse when there is one of the name; ErrNotFound of its cluster. Answer: *window.
type createWindow struct{ Window window }

func (c createWindow) Apply(tx command.Transaction) (any, error) {
	if findWindow(tx, c.Window.Name) != nil {
		return nil, fmt.Errorf("window %q: %w", c.Window.Name, spec.ErrInUse)
	}
	if !slices.ContainsFunc(tx.Clusters(), func(known *spec.Cluster) bool {
		return known.Name == c.Window.Cluster && known.Status == spec.ClusterActive
	}) {
		return nil, fmt.Errorf("cluster %q: %w: create it first", c.Window.Cluster, spec.ErrNotFound)
	}
	c.Window.DeletedAt = time.Time{}
	tx.Put(&c.Window)
	return &c.Window, nil
}

// updateWindow replaces the note. ErrNotFound. Answer: *window.
type updateWindow struct{ Name, Note string }

func (c updateWindow) Apply(tx command.Transaction) (any, error) {
	known := findWindow(tx, c.Name)
	if known == nil {
		return nil, fmt.Errorf("window %q: %w", c.Name, spec.ErrNotFound)
	}
	changed := *known
	changed.Note = c.Note
	if command.Equal(&changed, known) {
		return known, nil
	}
	tx.Put(&changed)
	return &changed, nil
}

// deleteWindow ends a window; Reap forgets it later. ErrNotFound. Answer: *window.
type deleteWindow struct {
	Name string
	At   time.Time
}

func (c deleteWindow) Apply(tx command.Transaction) (any, error) {
	known := findWindow(tx, c.Name)
	if known == nil {
		return nil, fmt.Errorf("window %q: %w", c.Name, spec.ErrNotFound)
	}
	ended := *known
	ended.DeletedAt = c.At
	tx.Put(&ended)
	return &ended, nil
}

// Everything that the state does with its nouns it does with this one, which nothing but this file knows.
func TestANounIsOneFile(t *testing.T) {
	h := newHistory(t)
	start := PositionAfter(h.View().Index())
	seen := map[string]string{}
	follower := &Follower{State: h.State, Rebuild: func(*View) {}, Apply: func(_ *View, changes []*Change) {
		for _, change := range changes {
			if w, ok := change.Object.(*window); ok {
				seen[w.Name] = fmt.Sprintf("%s %s in %s %v", change.Kind, w.Note, change.ClusterName, change.Deleted)
			}
		}
	}}
	follower.CatchUp()
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	h.do(t, Wrap(createWindow{window{Name: "night", Cluster: "lab"}}))
	h.do(t, Wrap(updateWindow{"night", "new switches"}))
	if follower.CatchUp(); seen["night"] != "window new switches in lab false" || !slices.Contains(ChangeKinds, windowChange) {
		t.Errorf("a follower saw %q", seen)
	}
	h.do(t, SetTags{Kind: "window", ID: "night", Put: []spec.Tag{{Key: "a", Value: "b"}}})
	if tags, err := h.View().TagsOf("window", "night"); err != nil || len(tags) != 1 {
		t.Errorf("tags %v, %v", tags, err)
	}
	if back := findWindow(restored(t, h.snapshot(t)).View(), "night"); back == nil || back.Note != "new switches" || len(back.Tags) != 1 {
		t.Errorf("from a snapshot: %+v", back)
	}
	if _, err := h.try(t, DeleteCluster{Name: "lab"}); !errors.Is(err, spec.ErrInUse) {
		t.Errorf("a cluster with a window: %v", err)
	}
	h.do(t, Wrap(deleteWindow{"night", at(1)}))
	if follower.CatchUp(); seen["night"] != "window new switches in lab true" {
		t.Errorf("a follower saw %q", seen)
	}
	if _, err := h.try(t, SetTags{Kind: "window", ID: "night", Remove: []string{"a"}}); !errors.Is(err, spec.ErrInactive) {
		t.Errorf("tags of a deleted one: %v", err)
	}
	if v := h.View(); v.HasExpired(Reap{Before: at(1)}) || !v.HasExpired(Reap{Before: at(2)}) {
		t.Error("it expires at another moment")
	}
	h.do(t, Reap{Before: at(2)})
	h.do(t, DeleteCluster{Name: "lab"})
	if changes, _, err := h.Changes(start, 100); err != nil || len(changes) != 6 || findWindow(h.View(), "night") != nil {
		t.Errorf("%d changes, %v, and %v is left", len(changes), err, findWindow(h.View(), "night"))
	}
}

// The page on adding a noun quotes this file.
func TestThePageOnAddingANounQuotesOneThatWorks(t *testing.T) {
	page, err := os.ReadFile("../docs/adding-a-noun.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("adding_noun_test.go")
	if err != nil {
		t.Fatal(err)
	}
	quotes := strings.Split(string(page), "```go\n")[1:]
	for _, quoted := range quotes {
		if quoted, _, _ = strings.Cut(quoted, "```"); !strings.Contains(string(code), quoted) {
			t.Errorf("this is not in adding_noun_test.go:\n%s", quoted)
		}
	}
	if len(quotes) == 0 {
		t.Error("the page quotes nothing")
	}
}
