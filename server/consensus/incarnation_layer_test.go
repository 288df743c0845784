package consensus

import (
	"bytes"
	"log/slog"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/peer"
)

// A server chooses what it says of its starts: it costs a line of the log, whatever it says at each try.
func TestAServerThatSaysOtherStartsEachTimeIsLoggedOnce(t *testing.T) {
	n := start(t, config(t.TempDir()))
	var lines bytes.Buffer
	host := spec.Host{ID: "copied", Name: "copied", Cluster: spec.DefaultCluster, Status: spec.HostActive, Address: "192.0.2.1:7400", Starts: 1 << 20}
	if _, err := n.Propose(t.Context(), raftfsm.PutHost{Host: host}); err != nil {
		t.Fatal(err)
	}
	reported := 0
	layer := IncarnationLayer{
		Node: func() *Node { return n }, Refusals: func(peer.Refusal) { reported++ }, Logged: new(peer.RefusalLog), Log: slog.New(slog.NewTextHandler(&lines, nil)),
	}
	for starts := range int64(100) {
		if err := layer.checkStarts(host.ID, host.Address, starts+1); err == nil {
			t.Fatalf("a server that was started %d times of %d is heard", starts+1, host.Starts)
		}
	}
	if n := bytes.Count(lines.Bytes(), []byte("\n")); n != 1 || reported != 100 {
		t.Errorf("%d lines are logged, and %d refusals reported", n, reported)
	}
}
