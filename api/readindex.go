package api

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"pinion/api/ecs"
	"pinion/api/wire"
	"pinion/raftfsm"
)

// readIndexReply is what the leader says to a host that has the same state: all that reading needs and the state does not tell.
type readIndexReply struct {
	// Silent are the ids of the hosts that the leader has not heard of lately. Those that the pool has given up are left
	// out: that is in the state.
	Silent []string `json:"silent,omitempty"`
}

// readIndexTTL is how long a word is good for more than one question. Hosts are silent for seconds before it counts.
const readIndexTTL = 100 * time.Millisecond

// readIndexCache remembers what the leader said last: looking at each of a thousand hosts takes longer than a small question. The
// zero value is ready, and it is safe for concurrent use.
type readIndexCache struct {
	mu   sync.Mutex
	at   time.Time
	text []byte
}

// say is the word as JSON, worked out when the last one is not good any more. Those who ask at once share it.
func (l *readIndexCache) say(work func() readIndexReply) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) >= readIndexTTL {
		l.at = time.Now()
		l.text, _ = json.Marshal(work()) // strings alone: there is nothing to fail
	}
	return l.text
}

// giveWord answers a host that has the state of this view. It is never compressed: mostly there is nothing to say.
func (d *door) giveWord(w http.ResponseWriter, view *raftfsm.View) {
	text := d.Limits.readIndex.say(func() (now readIndexReply) {
		for _, host := range view.Hosts("") {
			if !host.Lost() && !d.Store.Connected(host.ID) {
				now.Silent = append(now.Silent, host.ID)
			}
		}
		return now
	})
	w.Header().Set(stateMatchHeader, "true")
	w.Header().Set("Content-Type", typeJSON)
	if err := writeWhole(w, http.StatusOK, text); err != nil {
		d.Log.Debug("the host that asked went away", "requestId", requestID(w), "err", err)
	}
}

// takeWord reads which hosts are silent. What comes broken is asked for again: nothing was done.
func takeWord(answer *http.Response, end context.CancelFunc) (silent map[string]bool, err error) {
	defer answer.Body.Close()
	defer time.AfterFunc(answerTimeout, end).Stop()
	var said readIndexReply
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		return nil, retryableError{wire.Errorf(wire.Server, "The answer of the pool's leader broke off: %v. Nothing was done; try again.", err)}
	}
	silent = make(map[string]bool, len(said.Silent))
	for _, id := range said.Silent {
		silent[id] = true
	}
	return silent, nil
}

// clusterFor is the cluster that a caller's operation works on.
func (d *door) clusterFor(who caller) ecs.Store {
	if who.silent == nil {
		return d.Store
	}
	return confirmed{d.Store, who}
}

// confirmed is the cluster on a host that has the leader's word. It takes no changes.
type confirmed struct {
	Store
	who caller
}

// Connected is what the leader said. A host that the state does not have, or has as given up, is not connected.
func (c confirmed) Connected(hostID string) bool {
	host := c.who.view.Host(hostID)
	return host != nil && !host.Lost() && !c.who.silent[hostID]
}
