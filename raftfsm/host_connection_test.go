package raftfsm

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestAHostThatIsSilentAndBackIsTold(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{hostWith("h2", 1)})
	from := PositionAfter(h.View().Index())
	silent := []HostConnectivity{{ID: "h1", Silent: true, Heard: at(1)}, {ID: "h2", Silent: true, Heard: at(2)}, {ID: "none", Silent: true}}
	h.do(t, RecordConnections{Hosts: silent, At: at(5)})
	if host := h.View().Host("h1"); !host.Silent() || !host.Connection.Heard.Equal(at(1)) || !host.Connection.At.Equal(at(5)) || host.Lost() {
		t.Errorf("%+v", host.Connection)
	}
	before := h.snapshot(t)
	h.do(t, RecordConnections{Hosts: silent, At: at(6)})
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("what was recorded already changed something")
	}
	described := hostWith("h1", 4)
	described.Version, described.Connection = "2.0", &spec.HostConnection{At: at(9)} // not the host's to say
	if put := h.do(t, PutHost{described}).(*spec.Host); !put.Silent() {
		t.Error("a host that describes itself is back")
	}
	h.do(t, RecordConnections{Hosts: []HostConnectivity{{ID: "h1"}}, At: at(20)})
	h.do(t, MarkHostLost{ID: "h2", At: at(66)})
	position := func(entry, offset int) string { return fmt.Sprintf("%d-%d", int(from.Index)+entry, offset) }
	want := []string{
		position(1, 0) + " host h1 ACTIVE DISCONNECTED in default", position(1, 1) + " host h2 ACTIVE DISCONNECTED in default",
		position(3, 0) + " host h1 ACTIVE in default", position(4, 0) + " host h1 ACTIVE BACK in default",
		position(5, 0) + " host h2 ACTIVE LOST in default",
	}
	if got := changed(t, h.State, from); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEachTermHasItsLeader(t *testing.T) {
	h := newHistory(t)
	from := PositionAfter(h.View().Index())
	for _, lead := range []RecordLeader{{"h1", 2, at(1)}, {"h1", 2, at(2)}, {"h2", 5, at(3)}, {"h2", 1, at(4)}} { // the last one after a restore
		h.do(t, lead)
	}
	if told := changed(t, h.State, from); len(told) != 3 {
		t.Errorf("%q", told)
	}
	if leader := h.View().Leader(); leader.HostID != "h2" || leader.Before != "h2" || leader.Term != 1 || !leader.At.Equal(at(4)) {
		t.Errorf("%+v", leader)
	}
}
