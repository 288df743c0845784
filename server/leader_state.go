package server

import "pinion/raftfsm"

// LeaderState is the state of the server on this host while it leads; else nil.
func LeaderState(m *Member) *raftfsm.State {
	if own := m.localServer(); own != nil && own.Leads() {
		return own.state
	}
	return nil
}
