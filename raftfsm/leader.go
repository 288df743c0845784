package raftfsm

import (
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/table"
)

var (
	tableLeader = register(noun[Leader]{
		table: "leader", indexes: []*table.Index[Leader]{leaderIndex},
		commands: []kind{kindOf[RecordLeader](66, 1)},
		changes:  func(_, after *Leader) []*Change { return []*Change{{Kind: LeaderChange, Object: after}} },
		emits:    []ChangeKind{LeaderChange},
		noExpiry: "it is one record",
	})
	leaderIndex = table.By(func(*Leader) string { return "" })
)

// Leader is the server that began the newest leader term of which the state knows, as it recorded itself, for the readers of events. Who
// leads now is Raft's knowledge.
type Leader struct {
	HostID string    `json:"hostId"`
	Before string    `json:"before,omitempty"` // id of the host that led before; empty: none
	Term   uint64    `json:"term"`             // of Raft
	At     time.Time `json:"at"`               // by its own clock
}

// Leader is nil before the first term was recorded.
func (v *View) Leader() *Leader { return leaderIndex.Get(v, sortkey.Key{}) }

// RecordLeader records that a server leads; once for a term. A pool that was recovered or restored counts its terms anew. Answer: nil.
type RecordLeader struct {
	HostID string
	Term   uint64
	At     time.Time
}

func (c RecordLeader) apply(tx *tx) (any, error) {
	leader := &Leader{HostID: c.HostID, Term: c.Term, At: c.At}
	if known := tx.Leader(); known != nil {
		if known.Term == c.Term && known.HostID == c.HostID {
			return nil, nil
		}
		leader.Before = known.HostID
	}
	tx.put(tableLeader, leader)
	return nil, nil
}
