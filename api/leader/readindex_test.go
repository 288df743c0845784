package leader

import (
	"testing"
	"testing/synctest"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func TestAConfirmedReadKnowsTheConnections(t *testing.T) {
	const heard, silent, lost, unknown = "a", "b", "c", "d"
	state := raftfsm.NewState()
	for i, command := range []raftfsm.Command{
		raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}},
		raftfsm.PutHost{Host: spec.Host{ID: heard, Cluster: spec.DefaultCluster, Status: spec.HostActive}},
		raftfsm.PutHost{Host: spec.Host{ID: silent, Cluster: spec.DefaultCluster, Status: spec.HostActive}},
		raftfsm.PutHost{Host: spec.Host{ID: lost, Cluster: spec.DefaultCluster, Status: spec.HostActive}},
		raftfsm.MarkHostLost{ID: lost, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	} {
		if _, err := state.Apply(uint64(i+1), command); err != nil {
			t.Fatalf("%T: %v", command, err)
		}
	}
	store := func(hostID string) bool { return hostID == lost } // whose answer counts only without a confirmation
	confirmed := Resolution{View: state.View(), Unreachable: map[string]bool{silent: true}}
	for hostID, want := range map[string]bool{heard: true, silent: false, lost: false, unknown: false} {
		if got := confirmed.Connected(hostID, store); got != want {
			t.Errorf("%s: %v", hostID, got)
		}
		if got := (Resolution{View: state.View()}).Connected(hostID, store); got != store(hostID) {
			t.Errorf("%s, from the store: %v", hostID, got)
		}
	}
}

func TestReadsShareAReplyForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cache ReadIndexCache
		made := 0
		reply := func() readIndexReply { made++; return readIndexReply{Unreachable: []string{"a"}} }
		for range 3 {
			if got := string(cache.get(reply)); got != `{"unreachable":["a"]}` || made != 1 {
				t.Errorf("%s, made %d times", got, made)
			}
		}
		time.Sleep(ReadIndexTTL)
		if cache.get(reply); made != 2 {
			t.Errorf("made %d times", made)
		}
	})
}
