package server

import (
	"fmt"
	"time"

	"pinion/raftfsm"
)

const (
	// losePeriod is how often the leader looks for hosts to give up.
	losePeriod = 500 * time.Millisecond
	// pausedFor is how much longer than that it takes when the process was stopped meanwhile.
	pausedFor = 3 * time.Second
)

// loseLoop gives up hosts that were silent for the pool's TaskLostAfter: their tasks become STOPPED. It never hurries: a
// host that was not heard of in this term has the whole time from the term's beginning.
func (s *Server) loseLoop(t *term) {
	tick := time.NewTicker(losePeriod)
	defer tick.Stop()
	looked := time.Now()
	for {
		select {
		case <-tick.C:
			if time.Since(looked) > pausedFor { // this process slept, and heard nothing because of that
				t.beats.renew(s.cfg.Now())
			}
			looked = time.Now()
			s.loseSilent(t)
		case <-t.ctx.Done():
			return
		}
	}
}

func (s *Server) loseSilent(t *term) {
	view, now := s.state.View(), s.cfg.Now()
	after := view.Settings().TaskLostAfter
	for _, host := range view.Hosts("") {
		silence := t.beats.silence(host.ID, now)
		if host.Lost() || silence < after {
			continue
		}
		lose := raftfsm.LoseHost{ID: host.ID, At: now, Reason: fmt.Sprintf("Host %s was lost: nothing was heard of it for %s", host.Name, silence.Round(time.Second))}
		if _, err := s.record(t.ctx, lose); err != nil {
			s.log.Warn("cannot give up a silent host, will try again", "host", host.Name, "error", err)
			return
		}
		s.log.Warn("a silent host is given up, its tasks count as stopped", "host", host.Name, "id", host.ID, "silence", silence)
	}
}
