package raftfsm

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/codec"
	"pinion/raftfsm/compact"
	"pinion/raftfsm/spec"
)

// raiseLevel lets this version be one of a later level until the test ends, with kinds of its own.
func raiseLevel(t *testing.T, level int, later ...kind) {
	kindsBefore := kinds
	ownLevel, kinds = level, codec.NewKinds(slices.Concat(kinds.All(), later))
	t.Cleanup(func() { ownLevel, kinds = FeatureLevel, kindsBefore })
}

func ofLevel(id string, level int) spec.Host {
	host := hostWith(id, 4)
	host.FeatureLevel = level
	return host
}

func TestThePoolCanDoWhatEveryServerCan(t *testing.T) {
	raiseLevel(t, 3)
	h := newHistory(t)
	steps := []struct {
		name    string
		command Command
		want    int
	}{
		{"no server on record: a pool of one", CreatePool{}, 3},
		{"a server of the first version", SetServerRole{"h1", true}, 1},
		{"it was upgraded", PutHost{ofLevel("h1", 3)}, 3},
		{"an old agent does not count", PutHost{ofLevel("h2", 2)}, 3},
		{"as a server it does", SetServerRole{"h2", true}, 2},
		{"one ahead of this version", PutHost{ofLevel("h2", 4)}, 3},
	}
	for _, step := range steps {
		h.do(t, step.command)
		if got := h.View().MinFeatureLevel(); got != step.want {
			t.Errorf("%s: level %d, want %d", step.name, got, step.want)
		}
	}
}

// laterCommand came with level 2.
type laterCommand struct{ Name string }

func (laterCommand) apply(*tx) (any, error) { return nil, nil }

// grownCommand has been there from the start and got fields with level 2.
type grownCommand struct {
	Name  string
	Items []*grownItem
	Grace int `json:",omitempty" level:"2"`
}

type grownItem struct {
	ID    string
	Notes map[string]note
}

type note struct {
	Text string
	By   string `json:",omitempty" level:"2"`
}

func (grownCommand) apply(*tx) (any, error) { return nil, nil }

// A command that a server of the pool would not understand is not written until that server is upgraded.
func TestWhatIsNewIsRefusedUntilThePoolIsUpgraded(t *testing.T) {
	raiseLevel(t, 2, kindOf[laterCommand](200, 2), kindOf[grownCommand](201, 1), compactKindOf[grownCommand](202, 2))
	h := newHistory(t)
	h.do(t, PutHost{ofLevel("h1", 1)})
	h.do(t, SetServerRole{"h1", true})
	noted := func(n note) grownCommand {
		return grownCommand{Items: []*grownItem{nil, {ID: "a", Notes: map[string]note{"x": n}}}}
	}
	cases := []struct {
		name             string
		command          Command
		tooNew           bool
		before, upgraded byte // the kinds of its entries
	}{
		{"a new command", laterCommand{"a"}, true, 0, 200},
		{"a new command by pointer", &laterCommand{"a"}, true, 0, 200},
		{"an old command", grownCommand{Name: "a"}, false, 201, 202},
		{"an old command by pointer", &grownCommand{Name: "a"}, false, 201, 202},
		{"a new field", grownCommand{Grace: 1}, true, 0, 202},
		{"an old field deep inside", noted(note{Text: "x"}), false, 201, 202},
		{"a new field deep inside", noted(note{By: "me"}), true, 0, 202},
		{"what has always been there", RemoveHost{ID: "h9"}, false, 11, 11},
	}
	check := func(tooNew bool, kind byte, name string, c Command) {
		t.Helper()
		may := h.View().MayWrite(c)
		entry, err := h.View().Encode(c)
		switch {
		case tooNew:
			if !errors.Is(may, ErrTooNew) || !errors.Is(err, ErrTooNew) || !strings.Contains(err.Error(), "upgrade it first") {
				t.Errorf("%s: %v, %v", name, may, err)
			}
		case may != nil || err != nil || entry[0] != kind:
			t.Errorf("%s: %v, kind %d, %v", name, may, entry, err)
		}
	}
	for _, c := range cases {
		check(c.tooNew, c.before, c.name, c.command)
	}
	h.do(t, PutHost{ofLevel("h1", 2)})
	for _, c := range cases {
		check(false, c.upgraded, c.name+", after the upgrade", c.command)
		entry, err := h.View().Encode(c.command)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Decode(entry); err != nil || !reflect.DeepEqual(back, reflect.Indirect(reflect.ValueOf(c.command)).Interface()) {
			t.Errorf("%s came back as %+v, %v", c.name, back, err)
		}
	}
}

func TestAFieldThatSaysNoLevelIsNoField(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the tag was taken for a level")
		}
	}()
	compact.LevelsOf(reflect.TypeFor[struct {
		Grace int `level:"later"`
	}]())
}

func TestASnapshotClaimsTheLevelOfTheOldestServer(t *testing.T) {
	raiseLevel(t, 2)
	h := newHistory(t)
	h.do(t, SetServerRole{"h1", true})
	if header, _, _ := strings.Cut(string(h.snapshot(t)), "\n"); header != `{"pinionSnapshot":1,"featureLevel":1}` {
		t.Errorf("header %s", header)
	}
	h.do(t, PutHost{ofLevel("h1", 2)})
	if header, _, _ := strings.Cut(string(h.snapshot(t)), "\n"); header != `{"pinionSnapshot":1,"featureLevel":2}` {
		t.Errorf("after the upgrade: header %s", header)
	}
}
