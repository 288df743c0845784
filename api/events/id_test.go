package events

import (
	"testing"

	"pinion/raftfsm"
)

func TestIDsOfEvents(t *testing.T) {
	for text, want := range map[string]struct {
		position    raftfsm.Position
		incarnation int
	}{
		"1234-0":   {raftfsm.Position{Index: 1234}, 1},
		"1234-5":   {raftfsm.Position{Index: 1234, Offset: 5}, 1},
		"1234-5-2": {raftfsm.Position{Index: 1234, Offset: 5}, 2},
		"1234":     {raftfsm.PositionAfter(1234), 0}, // typed by hand: the end of the entry, in any incarnation
	} {
		position, incarnation, err := parseID(text)
		if position != want.position || incarnation != want.incarnation || err != nil {
			t.Errorf("%s: %+v, %d, %v", text, position, incarnation, err)
		}
		if want.incarnation != 0 && formatID(position, incarnation) != text {
			t.Errorf("%s is written as %s", text, formatID(position, incarnation))
		}
	}
	for _, text := range []string{"", "now", "-1", "1-", "1-x", "1-2-3-4", "1-99999999999"} {
		if position, _, err := parseID(text); err == nil {
			t.Errorf("%q: %+v", text, position)
		}
	}
}
