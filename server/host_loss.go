package server

import (
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

const (
	// lossCheckInterval is how often the leader looks at least for hosts to give up; it looks in the moment that one is due.
	lossCheckInterval = 500 * time.Millisecond
	// pauseThreshold is how much longer than that it takes when the process was stopped meanwhile.
	pauseThreshold = 3 * time.Second
)

// hostLossLoop gives up hosts that were silent for the pool's TaskLostAfter: their tasks become STOPPED, but for those that
// were promised more time (see raftfsm.LostAfter), whose turn comes later. It never hurries: nothing was silent for
// longer than this server can know.
func (s *Server) hostLossLoop(t *leaderTerm) {
	look := time.NewTimer(lossCheckInterval)
	defer look.Stop()
	looked := time.Now()
	for {
		select {
		case <-look.C:
			if time.Since(looked) > pauseThreshold { // this process slept, and heard nothing because of that
				now := s.cfg.Now()
				t.heartbeats.resetLeases(now, now)
			}
			looked = time.Now()
			look.Reset(s.markSilentHosts(t))
		case <-t.ctx.Done():
			return
		}
	}
}

// markSilentHosts gives up what is due, and tells when to look again.
func (s *Server) markSilentHosts(t *leaderTerm) time.Duration {
	view, now, next := s.state.View(), s.cfg.Now(), lossCheckInterval
	after := view.Settings().TaskLostAfter
	for _, host := range view.Hosts("") {
		silence := t.heartbeats.silence(host.ID, now)
		if host.Lost() {
			silence = max(silence, now.Sub(host.LostAt)) // an earlier leader knew more
		}
		if silence < s.cfg.LostAfter {
			next = min(next, s.cfg.LostAfter-silence)
			continue
		}
		l := evaluateLoss(host, view.TasksOn(host.ID), silence, after)
		if l.due {
			lose := raftfsm.MarkHostLost{ID: host.ID, At: now, Keep: l.keep, Reason: fmt.Sprintf("Host %s was lost: nothing was heard of it for %s", host.Name, silence.Round(time.Second))}
			if _, err := s.propose(t.ctx, lose); err != nil {
				s.log.Warn("cannot give up a silent host, will try again", "host", host.Name, "error", err)
				return lossCheckInterval
			}
			s.log.Warn("a silent host is given up, its tasks count as stopped", "host", host.Name, "id", host.ID, "silence", silence, "tasks kept", len(l.keep))
		}
		next = min(next, l.next)
	}
	return next
}

// loss is what the silence of a host means.
type loss struct {
	due  bool          // the host is to be given up now, or some of its tasks after it was
	keep []string      // tasks that have more time
	next time.Duration // until more is due, if the silence lasts
}

// evaluateLoss judges a host that is not connected; pool is the time of hosts and of tasks that say nothing of their own.
func evaluateLoss(host *spec.Host, tasks []*spec.Task, silence, pool time.Duration) loss {
	l := loss{next: lossCheckInterval}
	fall := func(after time.Duration) bool {
		if silence >= after {
			l.due = true
			return true
		}
		l.next = min(l.next, after-silence)
		return false
	}
	if !host.Lost() {
		fall(pool)
	}
	for _, task := range tasks {
		if task.LastStatus == spec.Stopped {
			continue
		}
		if after, ever := task.LostAfter(pool); !ever || !fall(after) {
			l.keep = append(l.keep, task.ID)
		}
	}
	return l
}
