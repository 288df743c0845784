package server

import (
	"reflect"

	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// A session is two streams of JSON lines over one request, for as long as both ends live: what a host has to say, and
// what a server answers and tells by itself. An empty line {} is a heartbeat, and its answer. Everything in it can be
// said again without harm.

// agentMessage is a line of the host.
type agentMessage struct {
	Seq       uint64            `json:"seq,omitempty"`     // of a hello or reports: the answer carries it
	Handshake *handshake        `json:"hello,omitempty"`   // the first line, and again when something about the host has changed
	Reports   []spec.TaskReport `json:"reports,omitempty"` // to be recorded
}

// handshake is who a host is and what it runs. Nothing is assigned to it before this was recorded.
type handshake struct {
	registration
	After       uint64           `json:"after"`       // the newest index that the host has seen: a server that lags behind it waits
	Known       knownAssignments `json:"holds"`       // what the host was told before, of the first line only: it is told what differs
	Incarnation int              `json:"incarnation"` // of the pool, as the host knows it
}

// serverMessage is a line of the server.
type serverMessage struct {
	Reply       *sessionReply    `json:"answer,omitempty"`
	Assignments *assignmentDelta `json:"assignments,omitempty"`
	PoolInfo    *poolInfoUpdate  `json:"news,omitempty"`
	Error       *rpc.WireError   `json:"fault,omitempty"` // the session is over
}

// sessionReply is to the line with the same Seq.
type sessionReply struct {
	Seq     uint64         `json:"seq"`
	Unknown []string       `json:"unknown,omitempty"` // tasks that the host should not run
	Error   *rpc.WireError `json:"fault,omitempty"`
}

// poolInfoUpdate is sent at first and when it has changed.
type poolInfoUpdate struct {
	PoolInfo poolInfo `json:"outlook"`
	Server   bool     `json:"server"` // the pool wants this host to be a server
}

func equalPoolInfo(a, b poolInfoUpdate) bool { return reflect.DeepEqual(a, b) }
