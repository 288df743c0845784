package server

import (
	"reflect"

	"pinion/raftfsm/spec"
)

// A session is two streams of JSON lines over one request, for as long as both ends live: what a host has to say, and
// what a server answers and tells by itself. An empty line {} is a heartbeat, and its answer. Everything in it can be
// said again without harm.

// toServer is a line of the host.
type toServer struct {
	Seq     uint64            `json:"seq,omitempty"`     // of a hello or reports: the answer carries it
	Hello   *hello            `json:"hello,omitempty"`   // the first line, and again when something about the host has changed
	Reports []spec.TaskReport `json:"reports,omitempty"` // to be recorded
}

// hello is who a host is and what it runs. Nothing is assigned to it before this was recorded.
type hello struct {
	entering
	After       uint64  `json:"after"`       // the newest index that the host has seen: a server that lags behind it waits
	Holds       holding `json:"holds"`       // what the host was told before, of the first line only: it is told what differs
	Incarnation int     `json:"incarnation"` // of the pool, as the host knows it
}

// toHost is a line of the server.
type toHost struct {
	Answer      *answer      `json:"answer,omitempty"`
	Assignments *assignments `json:"assignments,omitempty"`
	News        *bulletin    `json:"news,omitempty"`
	Fault       *fault       `json:"fault,omitempty"` // the session is over
}

// answer is to the line with the same Seq.
type answer struct {
	Seq     uint64   `json:"seq"`
	Unknown []string `json:"unknown,omitempty"` // tasks that the host should not run
	Fault   *fault   `json:"fault,omitempty"`
}

// bulletin is sent at first and when it has changed.
type bulletin struct {
	Outlook outlook `json:"outlook"`
	Server  bool    `json:"server"` // the pool wants this host to be a server
}

func equalBulletins(a, b bulletin) bool { return reflect.DeepEqual(a, b) }
