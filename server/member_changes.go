package server

import "pinion/raftfsm"

// Changes are raftfsm.State.Changes of the state that this host has, which follows the log whether it leads or not. Once the
// host has become an agent, which has none, the error is raftfsm.ErrUnavailable, but nobody who waits is woken for it.
func (m *Member) Changes(after raftfsm.Position, most int) ([]*raftfsm.Change, <-chan struct{}, error) {
	own, err := m.server.get()
	if err != nil {
		return nil, nil, err
	}
	return own.state.Changes(after, most)
}
