package server

import (
	"errors"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
)

// A server that was started again is asked for its vote over an earlier connection.
func TestARequestToAServerThatWasStartedAgainIsHeard(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	asking, other := p.followers()[0], p.followers()[1]
	ask := func() error {
		transport := asking.member.localServer().cfg.Transport
		request := raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}} // of no term: it changes nothing
		return transport.AppendEntries(raft.ServerID(other.cfg.HostID), raft.ServerAddress(other.where), &request, &raft.AppendEntriesResponse{})
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	other.close()
	if err := ask(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while it is down: %v", err)
	}
	if err := other.start(); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	other.close()
	if err := other.start(); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("after it was started again: %v", err)
	}
}
