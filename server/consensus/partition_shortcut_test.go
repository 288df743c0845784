package consensus

import (
	"io"

	"github.com/hashicorp/raft"
)

// directTransport is the transport of a real server on a mesh. Nearly all that servers say to each other are heartbeats and
// other requests without an entry; over a whole link those are handed over as they are, which makes hours pass nearly
// twice as fast. Everything else, and everything over a link that is cut, is encoded and goes through the mesh.
type directTransport struct {
	*raft.NetworkTransport
	port      *memListener
	arriving  chan raft.RPC
	heartbeat func(raft.RPC)
}

// transport makes the transport of the server at the address, and lets others find it.
func (m *memNetwork) transport(address raft.ServerAddress) *directTransport {
	port := m.listen(address)
	t := &directTransport{
		NetworkTransport: NewTransport(port, testLog(string(address))),
		port:             port, arriving: make(chan raft.RPC),
	}
	port.transport = t
	go t.pass()
	return t
}

// pass hands on what came through the mesh.
func (t *directTransport) pass() {
	for {
		select {
		case rpc := <-t.NetworkTransport.Consumer():
			select {
			case t.arriving <- rpc:
			case <-t.port.closed:
				return
			}
		case <-t.port.closed:
			return
		}
	}
}

// Consumer answers all requests to this server.
func (t *directTransport) Consumer() <-chan raft.RPC { return t.arriving }

// SetHeartbeatHandler is called once, by Raft as it starts.
func (t *directTransport) SetHeartbeatHandler(handle func(raft.RPC)) {
	t.heartbeat = handle
	t.NetworkTransport.SetHeartbeatHandler(handle)
}

// AppendEntries takes the shortcut where there is one.
func (t *directTransport) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	if len(args.Entries) > 0 || !t.port.mesh.whole(t.port.address, to) {
		return t.NetworkTransport.AppendEntries(id, to, args, resp)
	}
	return t.port.mesh.port(to).transport.receiveHeartbeat(*args, resp)
}

// receiveHeartbeat takes in a request without an entry. Whether it is a heartbeat is told as raft.NetworkTransport does.
func (t *directTransport) receiveHeartbeat(args raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	answered := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: &args, RespChan: answered}
	if args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && args.LeaderCommitIndex == 0 {
		t.heartbeat(rpc)
	} else {
		select {
		case t.arriving <- rpc:
		case <-t.port.closed:
			return raft.ErrTransportShutdown
		}
	}
	select {
	case answer := <-answered:
		if answer.Error == nil {
			*resp = *answer.Response.(*raft.AppendEntriesResponse)
		}
		return answer.Error
	case <-t.port.closed:
		return raft.ErrTransportShutdown
	}
}

// InstallSnapshot counts what arrives.
func (t *directTransport) InstallSnapshot(id raft.ServerID, to raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	err := t.NetworkTransport.InstallSnapshot(id, to, args, resp, data)
	if err == nil && resp.Success {
		t.port.mesh.snapshots.Add(1)
	}
	return err
}
