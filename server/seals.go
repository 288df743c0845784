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

// sealFile holds the keys that secrets in the state are sealed with. A member has it in its data directory, beside the
// log, so that it outlives one that is put aside.
const sealFile = "seal.key"

const (
	// gatherTimeout is how long one round of asking for sealing keys may take.
	gatherTimeout = 2 * time.Second
	// gatherPause is the longest pause between two rounds: a key that nobody has is looked for seldom.
	gatherPause = time.Minute
)

// gathering is when to ask for sealing keys again.
type gathering struct {
	sync.Mutex
	next  time.Time
	pause time.Duration
}

// due reports whether it is time for a round. The pause after it is twice the one before, from a second on.
func (g *gathering) due(now time.Time) bool {
	g.Lock()
	defer g.Unlock()
	if now.Before(g.next) {
		return false
	}
	g.pause = min(max(2*g.pause, time.Second), gatherPause)
	g.next = now.Add(g.pause)
	return true
}

// gatherSeals asks the other servers for sealing keys as long as the state has a secret that this one cannot read. A
// server that is new does it once; who holds the key need not lead.
func (s *Server) gatherSeals(ctx context.Context) {
	if s.cfg.calls == nil || !s.misses(s.state.View()) || !s.gathers.due(time.Now()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, gatherTimeout)
	defer cancel()
	for id, other := range s.configured() {
		if id == raft.ServerID(s.cfg.HostID) {
			continue
		}
		var keys [][]byte
		err := s.cfg.calls.post(ctx, string(other.Address), pathSeals, struct{}{}, &keys)
		if err == nil {
			err = s.seals.Add(keys...)
		}
		if err != nil {
			s.log.Debug("a server gave no sealing keys", "server", other.Address, "error", err)
		}
		if !s.misses(s.state.View()) {
			return
		}
	}
}

// misses reports whether a secret in the state is sealed with a key that is not here.
func (s *Server) misses(view *raftfsm.View) bool {
	return slices.ContainsFunc(view.Keys(), func(key *spec.AccessKey) bool { return key.Seal != "" && !s.seals.Has(key.Seal) })
}

// answerSeals gives this server's sealing keys to another server. They never leave for anybody else.
func (m *Member) answerSeals(context.Context, string, struct{}) ([][]byte, error) {
	own := m.own()
	if own == nil {
		return nil, errAgent
	}
	return own.seals.Keys(), nil
}
