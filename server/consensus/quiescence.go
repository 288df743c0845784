package consensus

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/tick"
	"pinion/raftfsm/watch"
	"pinion/server/store"
)

// A leader of hashicorp/raft that has nothing to record sends each follower a heartbeat every 60 to 120 ms, and every 50 to 100 ms an
// AppendEntries without entries, which tells it how far the log is committed: Raft has no setting for the one, and the other is
// also how soon a follower learns of a commit and how soon a failed request is repeated. So an idle leader's requests are held
// back here, on their way to the network, while they would tell the follower nothing:
//
//   - An AppendEntries that repeats what the follower has acknowledged, that every entry is committed, waits until the log grows.
//   - A heartbeat waits for the next of the moments at which this process wakes up anyway, while the log does not grow and no read asks
//     who leads. A follower still hears one every 200 ms, a third of the silence after which it calls an election.
//
// Nothing is held back from a follower whose last answer was late or failed: on a machine that has too little of its CPUs each
// heartbeat counts. A request that was held back is sent as it is; Raft gets no answer that no follower gave.
const (
	heartbeatInterval = 200 * time.Millisecond
	// heartbeatHold is the longest time for which a heartbeat waits. One for which the next moment is later is sent at once, so that no
	// two are more than 260 ms apart.
	heartbeatHold = 140 * time.Millisecond
	// repeatHold bounds the wait of a request that repeats what is acknowledged, so that a loop of Raft's that is over soon ends.
	repeatHold = 2 * time.Second
	// growthPause is how long the log has not grown before heartbeats are held back.
	growthPause = time.Second
	// promptAnswer is the longest time of an answer that does not count as late.
	promptAnswer = 50 * time.Millisecond
)

// transport is what a Config.Transport has to be: without pre-votes a server that was cut off would end the leader's term when it comes
// back.
type transport interface {
	raft.Transport
	raft.WithPreVote
	raft.WithClose
}

// quiescentTransport is a transport that holds back what an idle leader's requests repeat, until life ends.
type quiescentTransport struct {
	transport
	life context.Context

	mu      sync.Mutex
	peers   map[raft.ServerID]acknowledgement
	last    uint64       // index of the last entry that was given to the log of this server
	grownAt time.Time    // when that was
	reads   int          // that ask who leads
	wake    watch.Signal // one of these three has changed
}

// acknowledgement is what a follower has last answered in a term. A follower whose last request failed has none.
type acknowledgement struct {
	term, last, committed uint64
	late                  bool
}

// newQuiescentTransport returns the transport that holds back. It ends every wait with life.
func newQuiescentTransport(t transport, life context.Context) *quiescentTransport {
	return &quiescentTransport{transport: t, life: life, peers: map[raft.ServerID]acknowledgement{}}
}

// AppendEntries sends entries, a heartbeat or the index of the last commit to a follower, when it would tell it anything.
func (t *quiescentTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	t.hold(id, args)
	began := time.Now()
	err := t.transport.AppendEntries(id, target, args, resp)
	t.recordReply(id, args, err == nil && resp.Success, time.Since(began) > promptAnswer)
	return err
}

// hold returns when the request has to be sent.
func (t *quiescentTransport) hold(id raft.ServerID, args *raft.AppendEntriesRequest) {
	longest := repeatHold
	if isHeartbeat(args) {
		longest = tick.Next(heartbeatInterval)
	}
	if len(args.Entries) > 0 || isHeartbeat(args) && longest > heartbeatHold {
		return
	}
	due := time.NewTimer(longest)
	defer due.Stop()
	for {
		changed := t.wake.Wait()
		if !t.mayWait(id, args) {
			return
		}
		select {
		case <-changed:
		case <-due.C:
			return
		case <-t.life.Done():
			return
		}
	}
}

// mayWait reports whether a request without entries tells the follower nothing as things are.
func (t *quiescentTransport) mayWait(id raft.ServerID, args *raft.AppendEntriesRequest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	follower, known := t.peers[id]
	switch {
	case !known || follower.term != args.Term || follower.late:
		return false
	case isHeartbeat(args):
		return t.reads == 0 && time.Since(t.grownAt) >= growthPause
	}
	committed := args.PrevLogEntry
	return committed == args.LeaderCommitIndex && committed >= t.last && committed == follower.last && committed == follower.committed
}

// isHeartbeat tells Raft's heartbeats from what it says of its log, as raft.NetworkTransport does.
func isHeartbeat(args *raft.AppendEntriesRequest) bool {
	return args.PrevLogEntry == 0 && args.PrevLogTerm == 0 && len(args.Entries) == 0 && args.LeaderCommitIndex == 0
}

// recordReply takes in how a request ended.
func (t *quiescentTransport) recordReply(id raft.ServerID, args *raft.AppendEntriesRequest, succeeded, late bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !succeeded {
		delete(t.peers, id)
		return
	}
	follower := t.peers[id]
	if follower.term != args.Term {
		follower = acknowledgement{term: args.Term}
	}
	follower.late = late
	if !isHeartbeat(args) {
		follower.last, follower.committed = args.PrevLogEntry, args.LeaderCommitIndex
		if n := len(args.Entries); n > 0 {
			follower.last = args.Entries[n-1].Index
		}
	}
	t.peers[id] = follower
}

// grown notes that entries up to an index are being added to the log: whatever is held back is sent, and is out of the way when they are
// written.
func (t *quiescentTransport) grown(last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.grownAt = last, time.Now()
	t.wake.Notify()
}

// reading sends what is held back, and holds no heartbeat back until the read that asks who leads is over.
func (t *quiescentTransport) reading() (over func()) {
	t.addReads(1)
	return func() { t.addReads(-1) }
}

func (t *quiescentTransport) addReads(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads += n
	t.wake.Notify()
}

// quiescentLog is the log store of a server, which tells its transport when it grows.
type quiescentLog struct {
	*store.Store
	transport *quiescentTransport
}

// StoreLog writes one record.
func (l quiescentLog) StoreLog(record *raft.Log) error { return l.StoreLogs([]*raft.Log{record}) }

// StoreLogs writes records in one commit.
func (l quiescentLog) StoreLogs(records []*raft.Log) error {
	if n := len(records); n > 0 {
		l.transport.grown(records[n-1].Index)
	}
	return l.Store.StoreLogs(records)
}
