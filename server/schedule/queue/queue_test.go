package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// newItem is a task of a test: what is not said is 0, and it came as the so many-th.
func newItem(n, gpus int, more ...func(*Item)) *Item {
	item := &Item{Tasks: []string{fmt.Sprintf("t%03d", n)}, Cluster: "default", Since: start.Add(time.Duration(n)), GPUs: gpus, Class: fmt.Sprint(gpus)}
	for _, say := range more {
		say(item)
	}
	return item
}

func of(name string) func(*Item)           { return func(i *Item) { i.Team = name } }
func priority(p int) func(*Item)           { return func(i *Item) { i.Priority = p } }
func first(i *Item)                        { i.First = true }
func limit(span time.Duration) func(*Item) { return func(i *Item) { i.Limit = span } }

func TestTheOrder(t *testing.T) {
	for name, c := range map[string]struct {
		items []*Item
		quota map[string]int
		want  []string
	}{
		"age":                              {[]*Item{newItem(2, 1), newItem(1, 1), newItem(3, 1)}, nil, []string{"t001", "t002", "t003"}},
		"priority before age":              {[]*Item{newItem(1, 1), newItem(2, 1, priority(5)), newItem(3, 1, priority(9))}, nil, []string{"t003", "t002", "t001"}},
		"teams in turn":                    {[]*Item{newItem(1, 1, of("a")), newItem(2, 1, of("a")), newItem(3, 1, of("b")), newItem(4, 1, of("b"))}, nil, []string{"t001", "t003", "t002", "t004"}},
		"who may before who borrows":       {[]*Item{newItem(1, 1, of("a"), priority(9)), newItem(2, 1, of("b"))}, map[string]int{"b": 1}, []string{"t002", "t001"}},
		"who has no quota only borrows":    {[]*Item{newItem(1, 1, of("a")), newItem(2, 2, of("b"), priority(9))}, map[string]int{"b": 1}, []string{"t002", "t001"}},
		"first before all others":          {[]*Item{newItem(1, 1, priority(9)), newItem(2, 1, first), newItem(3, 1, first, of("b")), newItem(4, 1)}, map[string]int{"b": 0}, []string{"t002", "t003", "t001", "t004"}},
		"nobody borrows for no GPU at all": {[]*Item{newItem(1, 1, of("b")), newItem(2, 0, of("a"), priority(9))}, map[string]int{"b": 1}, []string{"t002", "t001"}},
	} {
		t.Run(name, func(t *testing.T) {
			y := newModel(8)
			for team, gpus := range c.quota {
				y.Teams.Set(team, gpus, 1)
			}
			for _, item := range c.items {
				y.Add(item)
			}
			if y.round(); !slices.Equal(y.started, c.want) {
				t.Errorf("started %v, want %v", y.started, c.want)
			}
		})
	}
}

func TestNothingDelaysTheHead(t *testing.T) {
	hour := time.Hour
	for name, c := range map[string]struct {
		late *Item // it comes when the head waits for two GPUs of a host that has one free, for an hour at the most
		want bool
	}{
		"what is over in time may start":        {newItem(3, 1, limit(hour)), true},
		"what may last longer waits":            {newItem(3, 1, limit(hour+1)), false},
		"what does not end by itself waits too": {newItem(3, 1), false},
		"what asks for no GPU is in no way":     {newItem(3, 0), true},
		"what is more important goes first":     {newItem(3, 1, priority(1)), true},
	} {
		t.Run(name, func(t *testing.T) {
			y := newModel(2)
			y.Add(newItem(1, 1, limit(hour)))
			y.Add(newItem(2, 2))
			y.round()
			y.Add(c.late)
			y.round()
			if got := slices.Contains(y.started, "t003"); got != c.want {
				t.Errorf("it started: %v", got)
			}
		})
	}
}

func TestAHeadThatNobodyHasRoomForHoldsUpNobody(t *testing.T) {
	y := newModel(2)
	y.Add(newItem(1, 1))
	y.Add(newItem(2, 9))
	y.Add(newItem(3, 1))
	if y.round(); !slices.Equal(y.started, []string{"t001", "t003"}) {
		t.Errorf("started %v", y.started)
	}
}

func TestAPlaceIsKeptForAHeadThatWaitsForAnUnknownTime(t *testing.T) {
	y := newModel(2)
	y.Add(newItem(1, 1)) // does not end by itself
	y.Add(newItem(2, 2))
	y.Add(newItem(3, 1))
	y.round()
	if !slices.Equal(y.started, []string{"t001"}) {
		t.Fatalf("started %v", y.started)
	}
	y.end("t001")
	if y.round(); !slices.Equal(y.started, []string{"t001", "t002"}) {
		t.Errorf("started %v", y.started)
	}
}

// Teams that always want more get the GPU time that their weights say, whatever they asked for and however long it runs.
func TestSharesConverge(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	weights := map[string]int{"a": 1, "b": 2, "c": 5}
	y := newModel(8, 8, 8, 8)
	names, n, waiting := []string{"a", "b", "c"}, 0, map[string]int{}
	for name, weight := range weights {
		y.Teams.Set(name, -1, weight)
	}
	had, all := map[string]float64{}, 0.0
	for range 2000 {
		for _, name := range names {
			for ; waiting[name] < 40; waiting[name]++ {
				n++
				y.Add(newItem(n, 1+chance.IntN(2), of(name), limit(time.Duration(1+chance.IntN(8))*time.Hour)))
			}
		}
		y.round()
		for _, j := range y.running {
			had[j.item.Team] += float64(j.item.GPUs)
			all += float64(j.item.GPUs)
		}
		y.pass(10 * time.Minute)
		clear(waiting)
		for _, e := range y.queued {
			waiting[e.Team]++
		}
	}
	for name, weight := range weights {
		if got, want := had[name]/all, float64(weight)/8; got < want*0.95 || got > want*1.05 {
			t.Errorf("team %s had %.3f of the GPU time, its share is %.3f", name, got, want)
		}
	}
}

// Who asks for every GPU of its host is counted with as many as the largest host has, until it is known which host it got.
func TestWhatWasGuessedIsCorrected(t *testing.T) {
	q := New()
	q.Teams.Set("a", 8, 1)
	q.MarkPlaced(&Item{Tasks: []string{"t"}, Team: "a", GPUs: 8}, start)
	q.Teams.StartUsage("t", "a", 2, start, start)
	if held, _ := q.Teams.Usage("a"); held != 2 || q.Teams.lookup("a").running != 2 {
		t.Errorf("%d held, %d count", held, q.Teams.lookup("a").running)
	}
	q.Teams.EndUsage("t", start, start)
	if held, _ := q.Teams.Usage("a"); held != 0 || q.Teams.lookup("a").running != 0 {
		t.Errorf("%d held, %d count at the end", held, q.Teams.lookup("a").running)
	}
}

func TestAHeadThatWasStoppedIsNoReasonToPassTheNextOfItsKind(t *testing.T) {
	y := newModel(2)
	y.Add(newItem(1, 1))
	y.round() // leaves one GPU of two
	y.Add(newItem(2, 2))
	y.Add(newItem(3, 2))
	y.stopUnheard("t002", newItem(4, 1))
	y.Add(newItem(5, 1))
	y.end("t004") // room for a small one again
	y.round()
	if want := []string{"t001", "t004"}; !slices.Equal(y.started, want) {
		t.Errorf("started %v, want %v: what is free now is kept for the other large one", y.started, want)
	}
	y.end("t001")
	y.round()
	if want := []string{"t001", "t004", "t003"}; !slices.Equal(y.started, want) {
		t.Errorf("started %v, want %v", y.started, want)
	}
}
