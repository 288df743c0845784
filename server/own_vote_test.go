package server

import (
	"net"
	"sync/atomic"
	"testing"
)

// acceptCounter counts the connections that a host accepts.
type acceptCounter struct {
	net.Listener
	accepted atomic.Int64
}

func (c *acceptCounter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return conn, err
}

// A server that comes back under the address of a dead one reaches itself there, and two of three votes would be its own.
func TestAServerUnderADeadPeersAddressDoesNotGetItsOwnVoteTwice(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	p.checkAgreement()
	others := p.followers()
	survivor, dead, sleeping := p.leader(), others[0], others[1]
	dead.close()
	sleeping.close()
	survivor.close()

	var counter acceptCounter
	survivor.where = dead.where
	survivor.wrap = func(l net.Listener) net.Listener {
		counter.Listener = l
		return &counter
	}
	if err := survivor.start(); err != nil {
		t.Fatal(err)
	}
	r := survivor.member.localServer().node.Raft()
	term := r.CurrentTerm()
	eventually(t, "the server has tried to be elected", func() bool { return counter.accepted.Load() >= 3 || r.CurrentTerm() != term })
	if now := r.CurrentTerm(); now != term {
		t.Fatalf("one of three servers began term %d after term %d by votes of its own", now, term)
	}
	if err := sleeping.start(); err != nil {
		t.Fatal(err)
	}
	p.leader()
	p.checkAgreement()
}

func TestAHostIsNotTakenForAnotherThatHadItsAddress(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	gone := p.followers()[0]
	if _, err := p.leader().member.localServer().servers.FetchStats(t.Context(), gone.cfg.HostID); err != nil {
		t.Fatal(err)
	}
	gone.close()
	token := p.joinToken()
	other := p.host(func(c *MemberConfig) { c.Join, c.JoinToken = p.leader().where, token })
	other.where = gone.where
	if err := other.start(); err != nil {
		t.Fatal(err)
	}
	if stats, err := p.leader().member.localServer().servers.FetchStats(t.Context(), gone.cfg.HostID); err == nil {
		t.Errorf("host %s answers for host %s: %+v", other.cfg.HostID, gone.cfg.HostID, stats)
	}
}
