package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pinion/raftfsm/iplease"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/partition"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// A session is two streams of JSON messages over one request, for as long as both ends live: what a host has to say, and
// what a server answers and tells by itself. An empty message {} is a heartbeat, and its answer. Every message can be
// repeated without harm.

// Where hosts find a server's side.
const (
	PathSession  = "/peer/session"
	PathRegister = "/peer/leader/register" // of a server that does not lead: a Registration
	PathMetrics  = "/peer/leader/metrics"  // of a server that does not lead: what one of its hosts has measured
	PathLease    = "/peer/leader/lease"    // of a server that does not lead: a host asks for a virtual IP
	PathReports  = "/peer/leader/reports"  // of a server that does not lead: reports of its hosts
)

// maxMessage is the size of one message at most, of either end. A host with 10,000 tasks stays far below it.
const maxMessage = 32 << 20

// agentMessage is a message of the host.
type agentMessage struct {
	Clock     int64             `json:"clock,omitempty"`     // of one heartbeat of ten: what the host's clock says, in milliseconds since 1970
	Seq       uint64            `json:"seq,omitempty"`       // of a handshake or reports: the reply carries it
	Handshake *handshake        `json:"handshake,omitempty"` // the first message, and again when something about the host has changed
	Reports   []spec.TaskReport `json:"reports,omitempty"`   // to be recorded
	Metrics   *metric.Report    `json:"metrics,omitempty"`   // what the host has measured of the tasks that the answer before has named
	Drained   []string          `json:"drained,omitempty"`   // of a heartbeat: the targets that are draining and have no request in flight from this host

	VirtualIP *iplease.Request `json:"virtualIP,omitempty"` // the host asks whether it holds one

	Partitions *partitionsRequest `json:"partitions,omitempty"` // the host asks how its GPUs are to be partitioned
}

// handshake is what a host is and runs. Nothing is assigned to it before this was recorded.
type handshake struct {
	Registration
	After       uint64           `json:"after"`           // the newest index that the host has seen: a server that lags behind it waits
	Known       knownAssignments `json:"known"`           // the assignments that the host knows, of the first message only: only the difference is sent
	Routing     knownRouting     `json:"routing"`         // likewise the Routing; null: it takes none
	Incarnation int              `json:"incarnation"`     // of the pool, as the host knows it
	Proof       *spec.PoolInfo   `json:"proof,omitempty"` // of a pool that was recovered: who its servers are, which its CA has signed
}

// firstIncarnation is that of a pool that was never recovered, which needs no proof.
const firstIncarnation = 1

// claim says which incarnation of the pool the host knows, and proves it.
func (h *handshake) claim(info spec.PoolInfo) {
	if h.Incarnation = info.Incarnation; info.Incarnation > firstIncarnation {
		h.Proof = &spec.PoolInfo{Pool: info.Pool, Incarnation: info.Incarnation, Servers: info.Servers, ServerIDs: info.ServerIDs, Signature: info.Signature}
	}
}

// Registration is a host that wants to be known, and what it runs.
type Registration struct {
	Host    spec.Host         `json:"host"`
	Running []spec.TaskReport `json:"running,omitempty"`
}

// RegistrationReply is the answer to a Registration: the tasks that the host should not run, and the index of the state
// that knows the host.
type RegistrationReply struct {
	Unknown []string `json:"unknown,omitempty"`
	Index   uint64   `json:"index"`
}

// serverMessage is a message of the server.
type serverMessage struct {
	Reply       *sessionReply    `json:"reply,omitempty"`
	Assignments *assignmentDelta `json:"assignments,omitempty"`
	Routing     *routingDelta    `json:"routing,omitempty"`
	PoolInfo    *PoolInfoUpdate  `json:"poolInfo,omitempty"`
	ClockOffset int64            `json:"clockOffset,omitempty"` // by how many milliseconds the host's clock is ahead of the server's, when it is off
	Error       *rpc.WireError   `json:"error,omitempty"`       // the session is over
}

// isHeartbeat reports whether the message is nothing but the answer to a heartbeat.
func (m serverMessage) isHeartbeat() bool {
	return m.Reply == nil && m.Assignments == nil && m.Routing == nil && m.PoolInfo == nil && m.Error == nil
}

// sessionReply is to the message with the same Seq.
type sessionReply struct {
	Seq     uint64           `json:"seq"`
	Unknown []string         `json:"unknown,omitempty"` // tasks that the host should not run
	Measure metric.Selection `json:"measure,omitzero"`  // what the host is to measure
	Error   *rpc.WireError   `json:"error,omitempty"`

	VirtualIP iplease.Answer `json:"virtualIP,omitzero"`

	Partitions partition.List `json:"partitions,omitempty"` // how the host's GPUs are to be partitioned
}

// PoolInfoUpdate is sent at first and after each change.
type PoolInfoUpdate struct {
	PoolInfo    spec.PoolInfo `json:"poolInfo"`
	SameRemoved bool          `json:"sameRemoved,omitempty"` // PoolInfo.Removed is left out: it is as in the update before
	Server      bool          `json:"server"`                // the pool wants this host to be a server
}

// messageReader decodes the messages of a stream, each of maxMessage bytes at most.
type messageReader struct {
	decoder *json.Decoder
	limit   limitedReader
	size    int // of the message that was read last
}

func newMessageReader(r io.Reader) *messageReader {
	m := &messageReader{limit: limitedReader{reader: r}}
	m.decoder = json.NewDecoder(&m.limit)
	return m
}

// next decodes one message. A stream that ends is errPeerClosed.
func (m *messageReader) next(message any) error {
	m.limit.left = maxMessage
	err := m.decoder.Decode(message)
	if errors.Is(err, io.EOF) {
		return errPeerClosed
	}
	return err
}

// nextOfHost is next for a message of a host, which is as large decoded as its bytes let expect: see checkShape.
func (m *messageReader) nextOfHost(message *agentMessage) error {
	var text json.RawMessage
	if err := m.next(&text); err != nil {
		return err
	}
	size, err := checkShape(text)
	if err != nil {
		return err
	}
	m.size = size
	return json.Unmarshal(text, message)
}

// limitedReader fails when more is read than is left.
type limitedReader struct {
	reader io.Reader
	left   int
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.reader.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

var (
	errPeerClosed = fmt.Errorf("the other end has gone: %w", spec.ErrUnavailable)
	errTooLong    = fmt.Errorf("a message of the session is longer than %d MiB", maxMessage>>20)
)
