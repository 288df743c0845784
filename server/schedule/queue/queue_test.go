package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// ask is a task of a test: what is not said is 0, and it came as the so many-th.
func ask(n, gpus int, more ...func(*Item)) *Item {
	item := &Item{Tasks: []string{fmt.Sprintf("t%03d", n)}, Cluster: "default", Since: start.Add(time.Duration(n)), GPUs: gpus, Shape: fmt.Sprint(gpus)}
	for _, say := range more {
		say(item)
	}
	return item
}

func of(name string) func(*Item)           { return func(i *Item) { i.Team = name } }
func priority(p int) func(*Item)           { return func(i *Item) { i.Priority = p } }
func limit(span time.Duration) func(*Item) { return func(i *Item) { i.Limit = span } }

func TestTheOrder(t *testing.T) {
	for name, c := range map[string]struct {
		items []*Item
		quota map[string]int
		want  []string
	}{
		"age":                              {[]*Item{ask(2, 1), ask(1, 1), ask(3, 1)}, nil, []string{"t001", "t002", "t003"}},
		"priority before age":              {[]*Item{ask(1, 1), ask(2, 1, priority(5)), ask(3, 1, priority(9))}, nil, []string{"t003", "t002", "t001"}},
		"teams in turn":                    {[]*Item{ask(1, 1, of("a")), ask(2, 1, of("a")), ask(3, 1, of("b")), ask(4, 1, of("b"))}, nil, []string{"t001", "t003", "t002", "t004"}},
		"who may before who borrows":       {[]*Item{ask(1, 1, of("a"), priority(9)), ask(2, 1, of("b"))}, map[string]int{"b": 1}, []string{"t002", "t001"}},
		"who has no quota only borrows":    {[]*Item{ask(1, 1, of("a")), ask(2, 2, of("b"), priority(9))}, map[string]int{"b": 1}, []string{"t002", "t001"}},
		"nobody borrows for no GPU at all": {[]*Item{ask(1, 1, of("b")), ask(2, 0, of("a"), priority(9))}, map[string]int{"b": 1}, []string{"t002", "t001"}},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(8)
			for team, gpus := range c.quota {
				y.SetTeam(team, gpus, 1)
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
		"what is over in time may start":        {ask(3, 1, limit(hour)), true},
		"what may last longer waits":            {ask(3, 1, limit(hour+1)), false},
		"what does not end by itself waits too": {ask(3, 1), false},
		"what asks for no GPU is in no way":     {ask(3, 0), true},
		"what is more important goes first":     {ask(3, 1, priority(1)), true},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(2)
			y.Add(ask(1, 1, limit(hour)))
			y.Add(ask(2, 2))
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
	y := newYard(2)
	y.Add(ask(1, 1))
	y.Add(ask(2, 9))
	y.Add(ask(3, 1))
	if y.round(); !slices.Equal(y.started, []string{"t001", "t003"}) {
		t.Errorf("started %v", y.started)
	}
}

func TestAPlaceIsKeptForAHeadThatWaitsForAnUnknownTime(t *testing.T) {
	y := newYard(2)
	y.Add(ask(1, 1)) // does not end by itself
	y.Add(ask(2, 2))
	y.Add(ask(3, 1))
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
	y := newYard(8, 8, 8, 8)
	names, n, waiting := []string{"a", "b", "c"}, 0, map[string]int{}
	for name, weight := range weights {
		y.SetTeam(name, -1, weight)
	}
	had, all := map[string]float64{}, 0.0
	for range 2000 {
		for _, name := range names {
			for ; waiting[name] < 40; waiting[name]++ {
				n++
				y.Add(ask(n, 1+chance.IntN(2), of(name), limit(time.Duration(1+chance.IntN(8))*time.Hour)))
			}
		}
		y.round()
		for _, j := range y.running {
			had[j.item.Team] += float64(j.item.GPUs)
			all += float64(j.item.GPUs)
		}
		y.pass(10 * time.Minute)
		clear(waiting)
		for _, e := range y.entries {
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
	q.SetTeam("a", 8, 1)
	q.Take(&Item{Tasks: []string{"t"}, Team: "a", GPUs: 8}, start)
	q.Hold("t", "a", 2, start, start)
	if held, _ := q.Had("a"); held != 2 || q.team("a").running != 2 {
		t.Errorf("%d held, %d count", held, q.team("a").running)
	}
	q.Release("t", start, start)
	if held, _ := q.Had("a"); held != 0 || q.team("a").running != 0 {
		t.Errorf("%d held, %d count at the end", held, q.team("a").running)
	}
}

func TestAHeadThatWasStoppedIsNoReasonToPassTheNextOfItsKind(t *testing.T) {
	y := newYard(2)
	y.Add(ask(1, 1))
	y.round() // leaves one GPU of two
	y.Add(ask(2, 2))
	y.Add(ask(3, 2))
	y.stopUnheard("t002", ask(4, 1))
	y.Add(ask(5, 1))
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
