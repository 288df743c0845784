package events

import (
	"testing"

	"pinion/raftfsm"
)

func TestStreamsShareOneEncodingOfAnEvent(t *testing.T) {
	encoded := 0
	cache := encodedEventCache{envelope: func(_ *raftfsm.Change, _ *raftfsm.View, region string) ([]byte, error) {
		encoded++
		return []byte(`"` + region + `"`), nil
	}}
	change := &raftfsm.Change{Position: raftfsm.Position{Index: 4, Offset: 1}, Kind: raftfsm.TaskChange}
	view := raftfsm.NewState().View()
	for _, c := range []struct {
		region  string
		encoded int
	}{{"us-east-1", 1}, {"us-east-1", 1}, {"eu-west-1", 2}} {
		text, err := cache.get(change, view, c.region)
		if want := "id: 4-1\nevent: task\ndata: \"" + c.region + "\"\n\n"; err != nil || string(text) != want {
			t.Errorf("%q, %v", text, err)
		}
		if encoded != c.encoded {
			t.Errorf("it was encoded %d times for %s", encoded, c.region)
		}
	}
}
