package consensus

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

const follower raft.ServerID = "follower"

// recordingTransport notes when requests are sent, and answers them.
type recordingTransport struct {
	transport
	sent    []time.Time
	latency time.Duration
	err     error
	refused bool
}

func (t *recordingTransport) AppendEntries(_ raft.ServerID, _ raft.ServerAddress, _ *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	t.sent = append(t.sent, time.Now())
	time.Sleep(t.latency)
	resp.Success = !t.refused
	return t.err
}

// quiescing is a transport of a leader in term 3 whose log ends at entry 7, which the follower has.
type quiescing struct {
	*quiescentTransport
	network *recordingTransport
	end     context.CancelFunc
}

func newQuiescing() quiescing {
	life, end := context.WithCancel(context.Background())
	network := new(recordingTransport)
	q := quiescing{newQuiescentTransport(network, life), network, end}
	q.grown(7)
	time.Sleep(growthPause)
	q.send(appendRequest(7, 7, &raft.Log{Index: 7}))
	q.send(appendRequest(7, 7))
	return q
}

// send sends a request, and returns for how long it was held back.
func (q quiescing) send(args *raft.AppendEntriesRequest) time.Duration {
	began := time.Now()
	_ = q.AppendEntries(follower, "", args, new(raft.AppendEntriesResponse))
	return q.network.sent[len(q.network.sent)-1].Sub(began)
}

// appendRequest is what the leader says of its log up to an entry: with entries, those before are left out.
func appendRequest(last, committed uint64, entries ...*raft.Log) *raft.AppendEntriesRequest {
	return &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: last - uint64(len(entries)), PrevLogTerm: 3, Entries: entries, LeaderCommitIndex: committed}
}

func heartbeat() *raft.AppendEntriesRequest { return &raft.AppendEntriesRequest{Term: 3} }

func TestWhatAFollowerKnowsIsHeldBack(t *testing.T) {
	nextTerm := appendRequest(7, 7)
	nextTerm.Term = 4
	for name, c := range map[string]struct {
		before func(q quiescing)
		args   *raft.AppendEntriesRequest
		held   bool
	}{
		"a repetition":                   {nil, appendRequest(7, 7), true},
		"entries":                        {nil, appendRequest(8, 7, &raft.Log{Index: 8}), false},
		"a commit that it does not know": {func(q quiescing) { q.send(appendRequest(7, 6)) }, appendRequest(7, 7), false},
		"an entry that is not committed": {func(q quiescing) { q.send(appendRequest(7, 6)) }, appendRequest(7, 6), false},
		"entries that it does not have":  {func(q quiescing) { q.send(appendRequest(6, 6)) }, appendRequest(7, 7), false},
		"of a log that has grown":        {func(q quiescing) { q.grown(8) }, appendRequest(7, 7), false},
		"the first of a term":            {nil, nextTerm, false},
		"after a request that failed":    {func(q quiescing) { q.network.err = errors.New("cut"); q.send(heartbeat()) }, appendRequest(7, 7), false},
		"after one that was refused":     {func(q quiescing) { q.network.refused = true; q.send(heartbeat()) }, appendRequest(7, 7), false},
		"to a follower that answers late": {func(q quiescing) {
			q.network.latency = promptAnswer + 1
			q.send(appendRequest(7, 6))
			q.send(appendRequest(7, 7))
		}, appendRequest(7, 7), false},
		"a heartbeat to one that is late":  {func(q quiescing) { q.network.latency = promptAnswer + 1; q.send(heartbeat()) }, heartbeat(), false},
		"a heartbeat while the log grows":  {func(q quiescing) { q.grown(8) }, heartbeat(), false},
		"a heartbeat for a read":           {func(q quiescing) { q.reading() }, heartbeat(), false},
		"a repetition after the read":      {func(q quiescing) { q.reading()() }, appendRequest(7, 7), true},
		"anything when the node has ended": {func(q quiescing) { q.end() }, appendRequest(7, 7), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQuiescing()
				if c.before != nil {
					c.before(q)
				}
				if held := q.send(c.args); (held > 0) != c.held || held > repeatHold {
					t.Errorf("held back for %v", held)
				}
			})
		})
	}
}

func TestAFollowerHearsOfAnIdleLeaderInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuiescing()
		q.send(heartbeat())
		const heard = 100
		for i := range heard {
			time.Sleep(electionTimeout/10 + time.Duration(i%7)*10*time.Millisecond) // as Raft pauses
			q.send(heartbeat())
		}
		sent := q.network.sent[len(q.network.sent)-heard-1:]
		for i := range heard {
			if pause := sent[i+1].Sub(sent[i]); pause > electionTimeout/10*2+heartbeatHold {
				t.Errorf("%v without a heartbeat", pause)
			}
		}
		if all := sent[heard].Sub(sent[0]); all < (heard-2)*heartbeatInterval {
			t.Errorf("%d heartbeats in %v", heard, all)
		}
	})
}

func TestWhatIsHeldBackIsSentWhenItMatters(t *testing.T) {
	for name, event := range map[string]func(q quiescing){
		"the log grows":   func(q quiescing) { q.grown(8) },
		"the node closes": func(q quiescing) { q.end() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQuiescing()
				go func() {
					time.Sleep(time.Millisecond)
					event(q)
				}()
				if held := q.send(appendRequest(7, 7)); held != time.Millisecond {
					t.Errorf("held back for %v", held)
				}
			})
		})
	}
}
