package consensus

import (
	"testing"

	"github.com/hashicorp/raft"
)

// The leader gives a server its vote and is lost before another one hears of it: the new voter has the newest log, and is no voter in the
// configuration of the other, whose vote it needs.
func TestAVoterIsElectedByAServerThatHasNotHeardOfItsVote(t *testing.T) {
	nodes := startGroup(t, 3)
	lost, behind, promoted := nodes[0], nodes[1], nodes[2]
	id, address := raft.ServerID(promoted.cfg.HostID), raft.ServerAddress(promoted.cfg.Address)
	if err := lost.Raft().DemoteVoter(id, 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "every server knows that it has no vote", func() bool {
		return servers(behind.raft)[id].Suffrage == raft.Nonvoter && servers(promoted.raft)[id].Suffrage == raft.Nonvoter
	})
	lost.cfg.Transport.(*raft.InmemTransport).Disconnect(raft.ServerAddress(behind.cfg.Address))
	if err := lost.Raft().AddVoter(id, address, 0, 0).Error(); err != nil {
		t.Fatal(err)
	}
	if err := lost.Close(); err != nil {
		t.Fatal(err)
	}
	if servers(behind.raft)[id].Suffrage == raft.Voter {
		t.Fatal("it has heard of it")
	}
	eventually(t, "the new voter leads", promoted.Leads)
}
