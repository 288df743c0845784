package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// sealKeyFile holds the keys that secrets in the state are sealed with. A member has it in its data directory, beside the
// log, so that it outlives one that is put aside.
const sealKeyFile = "seal.key"

const (
	// sealKeyFetchTimeout is how long one round of asking for sealing keys may take.
	sealKeyFetchTimeout = 2 * time.Second
	// maxSealKeyBackoff is the longest pause between two rounds: a key that nobody has is looked for seldom.
	maxSealKeyBackoff = time.Minute
)

// fetchBackoff is when to ask for sealing keys again.
type fetchBackoff struct {
	sync.Mutex
	next  time.Time
	pause time.Duration
}

// due reports whether it is time for a round. The pause after it is twice the one before, from a second on.
func (g *fetchBackoff) due(now time.Time) bool {
	g.Lock()
	defer g.Unlock()
	if now.Before(g.next) {
		return false
	}
	g.pause = min(max(2*g.pause, time.Second), maxSealKeyBackoff)
	g.next = now.Add(g.pause)
	return true
}

// fetchSealKeys asks the other servers for sealing keys as long as the state has a secret that this one cannot read. A
// server that is new does it once; who holds the key need not lead.
func (s *Server) fetchSealKeys(ctx context.Context) {
	if s.cfg.peers == nil || !s.lacksSealKey(s.state.View()) || !s.sealKeyBackoff.due(time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sealKeyFetchTimeout)
	defer cancel()
	for id, other := range s.raftServers() {
		if id == raft.ServerID(s.cfg.HostID) {
			continue
		}
		var keys [][]byte
		err := s.cfg.peers.Call(ctx, string(other.Address), pathSealKeys, struct{}{}, &keys)
		if err == nil {
			err = s.keyring.Add(keys...)
		}
		if err != nil {
			s.log.Debug("a server gave no sealing keys", "server", other.Address, "error", err)
		}
		if !s.lacksSealKey(s.state.View()) {
			return
		}
	}
}

// lacksSealKey reports whether a secret in the state is sealed with a key that is not here.
func (s *Server) lacksSealKey(view *raftfsm.View) bool {
	return slices.ContainsFunc(view.AccessKeys(), func(key *spec.AccessKey) bool { return key.Seal != "" && !s.keyring.Has(key.Seal) })
}

// handleSealKeys gives this server's sealing keys to another server. They never leave for anybody else.
func (m *Member) handleSealKeys(context.Context, string, struct{}) ([][]byte, error) {
	own := m.localServer()
	if own == nil {
		return nil, errNotServer
	}
	return own.keyring.Keys(), nil
}
