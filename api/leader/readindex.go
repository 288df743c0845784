package leader

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
)

// A follower holds the state too. So that the leader neither does all the work nor sends every response twice through the
// network, a follower answers reads by itself. It forwards the request as always, and names the version of its state. A
// leader with the same version confirms by a quorum that it still leads and answers no more than that; a leader with any
// other version answers the request.
//
// That is linearizable because the response comes from the very state that the leader would have answered from. An older
// state could lack an acknowledged change. A younger one could hold a change that the leader is about to apply, and the
// next read at the leader would not see it.

// StateVersion names the state of a view: equal names are equal states. After a recovery the log goes on from an earlier
// index, so an index comes twice, in two incarnations of the pool.
func StateVersion(view *raftfsm.View) string {
	return strconv.FormatUint(view.Index(), 10) + "-" + strconv.Itoa(view.Settings().Incarnation)
}

// followerRead resolves a read on this host when the leader confirms that both have the same state; a leader that is asked
// by such a host confirms it.
func (r *Router) followerRead(x *httpx.Exchange) (Resolution, bool, error) {
	res, answered, err := r.onLeader(x, false, func(address string) outcome { return r.askReadIndex(x, address) })
	if err != nil || answered || res.Unreachable != nil || x.Origin.StateVersion != StateVersion(res.View) {
		return res, answered, err
	}
	x.Header().Set(httpx.HeaderStateMatch, "true")
	x.Header().Set("Content-Type", httpx.JSON)
	x.ReplyWhole(http.StatusOK, r.ReadIndex.get(func() readIndexReply { return r.readIndex(res.View) }))
	return res, true, nil
}

// askReadIndex asks the leader whether this host's state is the leader's. A caller whom this host does not know is the
// leader's to judge, because this host may lag behind.
func (r *Router) askReadIndex(x *httpx.Exchange, address string) outcome {
	res, err := r.local(x)
	if err != nil {
		return r.forward(x, address, false)
	}
	response, end, again, err := r.ask(x, address, StateVersion(res.View), false)
	if err == nil && response.Header.Get(httpx.HeaderStateMatch) == "" {
		return r.pass(x, response, end)
	}
	defer end()
	if err != nil {
		return outcome{err: err, again: again}
	}
	if res.Unreachable, err = readUnreachable(response, end); err != nil {
		return outcome{err: wire.Errorf(wire.Server, "The answer of the pool's leader broke off: %v. Nothing was done; try again.", err), again: true}
	}
	return outcome{res: res}
}

// readIndexReply is what the leader answers a follower that has the same state: all that a read needs beside the state.
type readIndexReply struct {
	// Unreachable are the ids of the hosts that the leader has not heard of lately, without those that the pool has given up,
	// which the state tells.
	Unreachable []string `json:"unreachable,omitempty"`
}

func (r *Router) readIndex(view *raftfsm.View) (reply readIndexReply) {
	for _, host := range view.Hosts("") {
		if !host.Lost() && !r.Store.Connected(host.ID) {
			reply.Unreachable = append(reply.Unreachable, host.ID)
		}
	}
	return reply
}

// readUnreachable reads a readIndexReply.
func readUnreachable(response *http.Response, end context.CancelFunc) (unreachable map[string]bool, err error) {
	defer response.Body.Close()
	defer time.AfterFunc(httpx.ResponseTimeout, end).Stop()
	var reply readIndexReply
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		return nil, err
	}
	unreachable = make(map[string]bool, len(reply.Unreachable))
	for _, id := range reply.Unreachable {
		unreachable[id] = true
	}
	return unreachable, nil
}

// Connected reports whether a host is connected: as the leader has confirmed it, or as asked from ask when this is not a
// confirmed FollowerRead. A host that the state does not have, or has given up, is not connected.
func (res Resolution) Connected(hostID string, ask func(hostID string) bool) bool {
	if res.Unreachable == nil {
		return ask(hostID)
	}
	host := res.View.Host(hostID)
	return host != nil && !host.Lost() && !res.Unreachable[hostID]
}

// ReadIndexTTL is how long one reply serves more than one follower read. Hosts are silent for seconds before it counts.
const ReadIndexTTL = 100 * time.Millisecond

// ReadIndexCache is the leader's last readIndexReply: a look at each of a thousand hosts costs more than a small read. The
// zero value is ready, and it is safe for concurrent use.
type ReadIndexCache struct {
	mu   sync.Mutex
	at   time.Time
	text []byte
}

// get is the reply as JSON, made anew after ReadIndexTTL. Concurrent callers share it.
func (c *ReadIndexCache) get(reply func() readIndexReply) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) >= ReadIndexTTL {
		c.at = time.Now()
		c.text, _ = json.Marshal(reply()) // strings alone: nothing can fail
	}
	return c.text
}
