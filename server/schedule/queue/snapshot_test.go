package queue

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func ids(items []*Item) (ids []string) {
	for _, item := range items {
		ids = append(ids, item.ID())
	}
	return ids
}

func TestASnapshotIsTheOrderOfItsMoment(t *testing.T) {
	y := newModel(2)
	y.Add(newItem(1, 2))
	y.round()
	for _, item := range []*Item{newItem(2, 2), newItem(3, 1, priority(7)), newItem(4, 1)} {
		y.Add(item)
	}
	y.round()
	s, second := y.Snapshot("default", y.now), y.Item("t002")
	y.Remove("t003")
	y.Add(newItem(5, 1, priority(9)))
	if want := []string{"t003", "t002", "t004"}; !slices.Equal(ids(s.List()), want) {
		t.Errorf("%v, want %v: what came later is none of it", ids(s.List()), want)
	}
	if position, of := s.Position(second); position != 2 || of != 3 {
		t.Errorf("t002 is number %d of %d, want 2 of 3", position, of)
	}
	if position, _ := s.Position(y.Item("t005")); position != 0 {
		t.Errorf("an item that came later is number %d", position)
	}
	if s.Head().ID() != "t003" {
		t.Errorf("the head is %s", s.Head().ID())
	}
	if items := y.Snapshot("none", y.now).List(); len(items) != 0 {
		t.Errorf("a cluster without items lists %v", ids(items))
	}
}

// The order that is shown is the order in which items are offered a place.
func TestASnapshotListsItemsAsTheyComeNext(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q := New()
		for i, m := range rapid.SliceOfN(moves, 1, 40).Draw(r, "items") {
			item := *m.item
			item.Tasks, item.Since = []string{fmt.Sprintf("t%03d", i)}, start.Add(-m.span)
			q.Add(&item)
			q.Teams.Set(m.team, m.quota, 1)
		}
		items := q.Snapshot("default", start).List()
		if next := q.next(start).oldest(); next != items[0] {
			r.Fatalf("%s is next, and %s is listed first", next.ID(), items[0].ID())
		}
		for i, item := range items {
			if position, of := q.Snapshot("default", start).Position(item); position != i+1 || of != len(items) {
				r.Fatalf("item %d of the list is number %d of %d", i, position, of)
			}
		}
	})
}
