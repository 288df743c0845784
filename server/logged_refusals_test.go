package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func TestARefusalIsLoggedOnceAndTheOldestIsForgotten(t *testing.T) {
	var logged loggedRefusals
	for i := range 2 * maxLoggedRefusals {
		if host := fmt.Sprint(i); !logged.first(host, "key") || !logged.first(host, "protocol") || logged.first(host, "key") {
			t.Fatalf("host %s is not logged once for each refusal", host)
		}
	}
	if len(logged.known) != maxLoggedRefusals || len(logged.oldest) != maxLoggedRefusals {
		t.Errorf("%d refusals are remembered, in the order of %d", len(logged.known), len(logged.oldest))
	}
	if !logged.first("0", "key") {
		t.Error("the oldest is remembered")
	}
}

// A server chooses what it says of its starts: it costs a line of the log, whatever it says at each try.
func TestAServerThatSaysOtherStartsEachTimeIsLoggedOnce(t *testing.T) {
	p := newPool(t)
	var lines bytes.Buffer
	p.found(nil)
	member := p.hosts[0].member
	host := spec.Host{ID: "copied", Name: "copied", Cluster: spec.DefaultCluster, Status: spec.HostActive, Address: "192.0.2.1:7400", Starts: 1 << 20}
	if _, err := member.Propose(t.Context(), raftfsm.PutHost{Host: host}); err != nil {
		t.Fatal(err)
	}
	layer := incarnationLayer{pool: member.role.poolFollower, auth: member.auth, log: slog.New(slog.NewTextHandler(&lines, nil))}
	for starts := range int64(100) {
		if err := layer.checkStarts(host.ID, host.Address, starts+1); err == nil {
			t.Fatalf("a server that was started %d times of %d is heard", starts+1, host.Starts)
		}
	}
	if n := bytes.Count(lines.Bytes(), []byte("\n")); n != 1 {
		t.Errorf("%d lines are logged", n)
	}
}
