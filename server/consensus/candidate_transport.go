package consensus

import (
	"context"
	"slices"

	"github.com/hashicorp/raft"
)

// candidateTransport is a transport by which Raft votes without regard to its own configuration, as Raft has it (Ongaro's dissertation,
// 4.1). hashicorp/raft refuses its vote to a candidate that has none in the voter's configuration. A leader that is lost in the moment
// after it gave a server its vote leaves servers of which one has the change and one has not: the one with the older log cannot win, and
// would refuse the other, so that nobody led until the lost leader came back.
//
// A server that was demoted or removed gains nothing by it: one that does not know has an older log than a majority, or the change was never
// committed; hosts that were removed from the pool are turned away before (server/peer).
type candidateTransport struct {
	transport
	raft     *raft.Raft    // set before forward
	requests chan raft.RPC // what Raft is asked
}

// Consumer has the requests of other servers, as forward passes them on.
func (t *candidateTransport) Consumer() <-chan raft.RPC { return t.requests }

// forward passes requests on to Raft until ctx ends.
func (t *candidateTransport) forward(ctx context.Context) {
	for {
		select {
		case rpc := <-t.transport.Consumer():
			rpc.Command = t.asVoter(rpc.Command)
			select {
			case t.requests <- rpc:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// asVoter returns a request for a vote as of a candidate that has one. Raft reads the id for its configuration only: it records its vote,
// and knows its leader, by the address.
func (t *candidateTransport) asVoter(request any) any {
	switch r := request.(type) {
	case *raft.RequestVoteRequest:
		named := *r
		named.ID = t.voter(r.ID)
		return &named
	case *raft.RequestPreVoteRequest:
		named := *r
		named.ID = t.voter(r.ID)
		return &named
	}
	return request
}

// voter is the id, or that of a voter if the server has no vote in this server's configuration.
func (t *candidateTransport) voter(id []byte) []byte {
	servers := t.raft.GetConfiguration().Configuration().Servers
	hasVote := func(s raft.Server) bool { return s.Suffrage == raft.Voter }
	if slices.ContainsFunc(servers, func(s raft.Server) bool { return hasVote(s) && string(s.ID) == string(id) }) {
		return id
	}
	if i := slices.IndexFunc(servers, hasVote); i >= 0 {
		return []byte(servers[i].ID)
	}
	return id
}
