package rpc

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"

	"pinion/raftfsm/spec"
)

const (
	// maxCalls is how many calls of callers that may be anybody's are read and answered at once. Each holds some 200 KiB while it arrives, unless it is large,
	// which LeaderCall bounds.
	maxCalls = 1024
	// maxCallsPerCaller is how many of them are of one caller. A connection brings many, and a caller has many connections.
	maxCallsPerCaller = 64
)

// Limit bounds the calls that are read and answered at once, in all and of one caller: who sends them slowly, or not to the end, holds memory of
// this host. The zero value is ready. It is safe for concurrent use.
type Limit struct {
	Calls          int // in all [1024]
	CallsPerCaller int // [64]

	mu       sync.Mutex
	all      int
	byCaller map[string]int
}

// Handle refuses a call beyond the limits with spec.ErrUnavailable, without reading it; any other one is handled.
func (l *Limit) Handle(w http.ResponseWriter, caller string, handle func()) {
	if !l.take(caller) {
		WriteError(w, fmt.Errorf("%w: this host answers too many calls, of %s or in all", spec.ErrUnavailable, caller))
		return
	}
	defer l.release(caller)
	handle()
}

func (l *Limit) take(caller string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= cmp.Or(l.Calls, maxCalls) || l.byCaller[caller] >= cmp.Or(l.CallsPerCaller, maxCallsPerCaller) {
		return false
	}
	if l.byCaller == nil {
		l.byCaller = map[string]int{}
	}
	l.all++
	l.byCaller[caller]++
	return true
}

func (l *Limit) release(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byCaller[caller]--; l.byCaller[caller] == 0 {
		delete(l.byCaller, caller)
	}
}
