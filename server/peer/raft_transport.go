package peer

import (
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/raft"
)

// BindRaft returns the transport with every request bound to the server that it is for. Raft dials addresses, and an
// address can change hands: without the binding, a server that came back under the address of a dead one would ask "it"
// for its vote, reach itself, and count its own vote twice. The layer under the transport must be a RaftLayer.
func BindRaft(t *raft.NetworkTransport) raft.Transport { return perServerTransport{t} }

// perServerTransport names the server in the address that the RaftLayer dials. Connections are pooled by that address, so
// one that was made for a server is used for no other.
type perServerTransport struct{ *raft.NetworkTransport }

var (
	_ raft.Transport   = perServerTransport{}
	_ raft.WithPreVote = perServerTransport{}
	_ raft.WithClose   = perServerTransport{}
)

// AppendEntriesPipeline opens a pipeline to the server.
func (t perServerTransport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	return t.NetworkTransport.AppendEntriesPipeline(id, boundAddress(id, target))
}

// AppendEntries sends entries, or a heartbeat, to the server.
func (t perServerTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	return t.NetworkTransport.AppendEntries(id, boundAddress(id, target), args, resp)
}

// RequestVote asks the server for its vote.
func (t perServerTransport) RequestVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestVoteRequest, resp *raft.RequestVoteResponse) error {
	return t.NetworkTransport.RequestVote(id, boundAddress(id, target), args, resp)
}

// RequestPreVote asks the server whether it would give its vote.
func (t perServerTransport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, args *raft.RequestPreVoteRequest, resp *raft.RequestPreVoteResponse) error {
	return t.NetworkTransport.RequestPreVote(id, boundAddress(id, target), args, resp)
}

// InstallSnapshot sends a snapshot to the server.
func (t perServerTransport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	return t.NetworkTransport.InstallSnapshot(id, boundAddress(id, target), args, resp, data)
}

// TimeoutNow makes the server call an election.
func (t perServerTransport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, args *raft.TimeoutNowRequest, resp *raft.TimeoutNowResponse) error {
	return t.NetworkTransport.TimeoutNow(id, boundAddress(id, target), args, resp)
}

// boundAddress is "<host id>@<host:port>"; a host id contains no "@".
func boundAddress(id raft.ServerID, address raft.ServerAddress) raft.ServerAddress {
	return raft.ServerAddress(string(id) + "@" + string(address))
}

// splitBound takes a bound address apart. An address without a host id is an error: Raft never speaks to just any host.
func splitBound(target raft.ServerAddress) (hostID, address string, err error) {
	hostID, address, bound := strings.Cut(string(target), "@")
	if !bound || hostID == "" {
		return "", "", fmt.Errorf("dial %s for Raft: the address names no host; wrap the transport with BindRaft", target)
	}
	return hostID, address, nil
}
