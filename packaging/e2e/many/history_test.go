package many

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"pinion/packaging/testbed"
)

var historySize = flag.Int("history", 2000, "how many requests under faults are checked to be linearizable")

const (
	historyClients = 8
	// familySize is how many requests are about one family of task definitions. It bounds what has to be ordered.
	familySize = 200
	// minFaults come to pass however fast the requests are.
	minFaults = 4
	// checkTimeout is how long the order of one family's history is looked for.
	checkTimeout = time.Minute
)

// history holds the requests and answers of clients during faults.
type history struct {
	pool  *pool
	t     *testing.T
	sdks  []*ecs.Client
	began time.Time
	run   string // part of the families' names, so that no two runs share one

	refused sync.Once // the first refusal is told, and no other like it

	mu       sync.Mutex
	size     int
	families map[string]*familyHistory
}

// familyHistory is the part about one family.
type familyHistory struct {
	operations []porcupine.Operation
	highest    int // revision that a client was told of
}

// testHistory has clients register, deregister and describe task definitions through all hosts while servers are
// killed, stopped and cut off. What they were told must be what a single machine could have told them.
func (p *pool) testHistory(t *testing.T) {
	h := &history{pool: p, t: t, sdks: p.ecsClients(t), began: time.Now(), run: fmt.Sprint(time.Now().Unix()), families: map[string]*familyHistory{}}
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for n := range historyClients {
		clients.Go(func() { h.runClient(ctx, n) })
	}
	defer clients.Wait()
	defer cancel()
	faults := 0
	for ; faults < minFaults || h.count() < *historySize; faults++ {
		p.injectFault(t, faults)
		p.undoFaults(t)
		h.waitProgress()
		if faults%25 == 24 {
			t.Logf("%d faults, %d requests", faults+1, h.count())
		}
	}
	cancel()
	clients.Wait()
	p.waitConverged(t)
	requests := h.count()
	h.check()
	if !t.Failed() {
		recordCount(fmt.Sprintf("requests under %d faults, linearizable", faults), requests)
	}
}

// injectFault breaks something of the leader's, or of the servers', for a moment.
func (p *pool) injectFault(t *testing.T, n int) {
	leader := p.leader(t)
	others := slices.DeleteFunc(p.serverHosts(t), func(h *testbed.Host) bool { return h == leader })
	other := others[rand.IntN(len(others))]
	faults := []func() error{
		leader.Pause,
		func() error { return p.isolate(leader, p.cutIncoming) },
		func() error { return leader.Kill(t.Context()) },
		func() error { return p.isolate(leader, p.CutBoth) },
		func() error { return p.isolate(leader, p.Cut) },
		other.Pause,
		func() error { return p.Cut(leader, other) },
		func() error { return other.Kill(t.Context()) },
		func() error { return p.Cut(other, leader) },
		func() error { return p.isolate(other, p.CutBoth) },
	}
	must(t, faults[n%len(faults)]())
	testbed.Rest(t.Context(), 500*time.Millisecond+rand.N(2*time.Second))
}

// waitProgress waits until some requests were answered again.
func (h *history) waitProgress() {
	h.t.Helper()
	before := h.count()
	eventually(h.t, "clients are answered again", func() bool { return h.count() >= before+2*historyClients })
}

func (h *history) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.size
}

// add records a request and its answer.
func (h *history) add(family string, o porcupine.Operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.families[family]
	f.operations = append(f.operations, o)
	f.highest = max(f.highest, o.Output.(familyResponse).revision)
	h.size++
}

// currentFamily is the family that requests are about now, and the highest revision of it that a client was told of.
func (h *history) currentFamily() (family string, highest int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	family = fmt.Sprintf("history-%s-%d", h.run, h.size/familySize)
	if h.families[family] == nil {
		h.families[family] = &familyHistory{}
	}
	return family, h.families[family].highest
}

// finalRevisions are the revisions of a family when the hosts are whole again: what was acknowledged is still there.
func (h *history) finalRevisions(family string) (revisions []revision) {
	for {
		n := len(revisions) + 1
		var found familyResponse
		eventually(h.t, fmt.Sprintf("%s:%d is described by hosts that are whole again", family, n), func() (answered bool) {
			found, answered = h.request(context.Background(), historyClients, family, familyRequest{kind: exact, revision: n})
			return answered
		})
		if !found.found {
			return revisions
		}
		revisions = append(revisions, revision{found.mark, found.active})
	}
}

// check finds an order for each family in which a single machine would have given all the answers.
func (h *history) check() {
	for _, family := range slices.Sorted(maps.Keys(h.families)) {
		final := h.finalRevisions(family)
		operations := resolveUnknown(h.families[family].operations, final)
		switch porcupine.CheckOperationsTimeout(familyModel, operations, checkTimeout) {
		case porcupine.Illegal:
			h.t.Errorf("%sno single machine can have answered like this about %s", listing(operations), family)
		case porcupine.Unknown:
			h.t.Errorf("%safter %v it is not decided whether these answers about %s are linearizable", listing(operations), checkTimeout, family)
		}
	}
}

func listing(operations []porcupine.Operation) string {
	slices.SortFunc(operations, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var text strings.Builder
	for _, o := range operations {
		fmt.Fprintf(&text, "%v to %v: %+v -> %+v", time.Duration(o.Call), time.Duration(o.Return), o.Input, o.Output)
		if o.Metadata != nil {
			fmt.Fprintf(&text, " (%v)", o.Metadata)
		}
		text.WriteByte('\n')
	}
	return text.String()
}
