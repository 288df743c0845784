package queue

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// move is a step of a history.
type move struct {
	kind  string // add, end, stop, unheard, pass or quota
	item  *Item
	which int // of those that run, or wait
	span  time.Duration
	team  string
	quota int
}

// GoString is how a history that fails is shown.
func (m move) GoString() string {
	return fmt.Sprintf("\n%s %d of %q %d GPUs=%d limit=%v priority=%d team=%q", m.kind, m.which, m.team, m.quota, m.item.GPUs, m.item.Limit, m.item.Priority, m.item.Team) + fmt.Sprint(" ", m.span)
}

var moves = rapid.Custom(func(r *rapid.T) move {
	hours := func(name string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(r, name)) * time.Hour
	}
	return move{
		kind: rapid.SampledFrom([]string{"add", "add", "add", "end", "stop", "unheard", "pass", "quota"}).Draw(r, "kind"),
		item: newItem(0, rapid.IntRange(0, 9).Draw(r, "gpus"), limit(hours("limit", 4)), priority(rapid.IntRange(0, 1).Draw(r, "priority")),
			of(rapid.SampledFrom([]string{"", "a", "b"}).Draw(r, "team"))),
		which: rapid.IntRange(0, 9).Draw(r, "which"),
		span:  hours("span", 3),
		team:  rapid.SampledFrom([]string{"a", "b"}).Draw(r, "of"),
		quota: rapid.IntRange(-1, 9).Draw(r, "quota"),
	}
})

// world checks a yard after each step of a history.
type world struct {
	*model
	*rapid.T
	added   int
	promise map[string]time.Time // when a head was to start at the latest, as long as it is the head
}

// newcomer is like the item, and younger than all before.
func (w *world) newcomer(like *Item) *Item {
	w.added++
	item := *like
	item.Tasks, item.Since = []string{fmt.Sprintf("t%03d", w.added)}, w.now.Add(time.Duration(w.added))
	return &item
}

func (w *world) step(m move) {
	switch m.kind {
	case "add":
		w.Add(w.newcomer(m.item))
	case "end":
		if ids := slices.Sorted(maps.Keys(w.running)); len(ids) > 0 {
			w.end(ids[m.which%len(ids)])
		}
	case "stop":
		if ids := slices.Sorted(maps.Keys(w.queued)); len(ids) > 0 {
			w.Remove(ids[m.which%len(ids)])
		}
	case "unheard":
		if ids := slices.Sorted(maps.Keys(w.queued)); len(ids) > 0 {
			id := ids[m.which%len(ids)]
			w.Add(w.newcomer(w.Item(id))) // one that is alike stays
			w.stopUnheard(id, w.newcomer(m.item))
		}
	case "pass":
		w.pass(m.span)
	case "quota":
		w.Teams.Set(m.team, m.quota, 1)
	}
	w.round()
	w.check()
}

func (w *world) check() {
	if w.fault != "" {
		w.Fatal(w.fault)
	}
	head := w.Head("default")
	if head != nil {
		w.Reserve(head) // as it is now
	}
	for _, e := range w.queued {
		if e.fifo.infeasible && e.GPUs <= slices.Max(w.hosts) {
			w.Fatalf("%s waits, a host has room for it when nothing else runs, and it is never to be the head", e.ID())
		}
		if w.fit(e.Item, false) < 0 {
			continue
		}
		if head == nil || head == e.Item {
			w.Fatalf("%s waits, and there is room for it", e.ID())
		}
		if w.sortKeyOf(e.Item, w.now).compare(w.sortKeyOf(head, w.now)) < 0 {
			w.Fatalf("%s waits behind %s, comes before it, and there is room for it", e.ID(), head.ID())
		}
		if e.Limit > 0 && (w.at.IsZero() || !w.now.Add(e.Limit).After(w.at)) {
			w.Fatalf("%s waits, there is room for it, and it would be over before %s needs it", e.ID(), head.ID())
		}
	}
	w.checkPromise(head)
}

// checkPromise: who is at the head starts when its resources can be free by the time limits at the latest.
func (w *world) checkPromise(head *Item) {
	for id, at := range w.promise {
		switch {
		case head == nil || head.ID() != id:
			delete(w.promise, id) // it has started, was stopped, or another one comes first now
		case w.now.After(at):
			w.Fatalf("%s was to start at %v and waits at %v", id, at, w.now)
		case w.at.IsZero() || w.at.After(at):
			w.Fatalf("%s was to start at %v, and now at %v", id, at, w.at)
		}
	}
	if head != nil && !w.at.IsZero() {
		w.promise[head.ID()] = w.at
	}
}

// Place checks that nobody borrows what one has a right to who waits. Who comes before the head may delay it.
func (w *world) Place(item *Item, keep bool) bool {
	head := w.Head("default")
	for id := range w.promise {
		if promised := w.Item(id); promised == nil || w.sortKeyOf(item, w.now).compare(w.sortKeyOf(promised, w.now)) < 0 {
			delete(w.promise, id)
		}
	}
	if host := w.fit(item, keep); host >= 0 && w.Borrows(item) {
		for _, e := range w.queued {
			if !w.Borrows(e.Item) && w.fit(e.Item, false) >= 0 && (head == nil || head == e.Item) {
				w.Fatalf("%s borrows what %s waits for", item.ID(), e.ID())
			}
		}
	}
	return w.model.Place(item, keep)
}

func TestHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		hosts := rapid.SliceOfN(rapid.IntRange(1, 8), 1, 3).Draw(r, "hosts")
		history := rapid.SliceOfN(moves, 1, 40).Draw(r, "history")
		var started [2][]string
		for i := range started {
			w := &world{model: newModel(hosts...), T: r, promise: map[string]time.Time{}}
			w.places = w
			for _, m := range history {
				w.step(m)
			}
			started[i] = w.started
		}
		if !slices.Equal(started[0], started[1]) {
			r.Fatalf("the same history started %v and then %v", started[0], started[1])
		}
	})
}
