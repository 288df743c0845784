package raftfsm

import (
	"time"

	"pinion/raftfsm/spec"
)

// RecordConnections records which hosts the leader does not hear of any more, and which it hears of again, so that every server tells
// the readers of its events. It changes nothing else: what a silent host offers is the leader's decision, and MarkHostLost gives it up.
// A host that is unknown, or recorded so already, is skipped. Answer: nil.
type RecordConnections struct {
	Hosts []HeardHost
	At    time.Time
}

// HeardHost is a host that is silent, or heard of again.
type HeardHost struct {
	ID     string
	Silent bool
	Heard  time.Time `json:",omitzero"` // of a silent host: when it was heard of last
}

func (c RecordConnections) apply(tx *tx) (any, error) {
	for _, heard := range c.Hosts {
		known := tx.Host(heard.ID)
		if known == nil || known.Silent() == heard.Silent {
			continue
		}
		host := *known
		host.Connection = &spec.HostConnection{Silent: heard.Silent, At: c.At, Heard: heard.Heard}
		tx.updateHost(&host)
	}
	return nil, nil
}
