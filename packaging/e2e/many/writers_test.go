package many

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// writers register revisions of task definitions one after the other, one writer with a family of its own through each
// host, and remember which were acknowledged. What has no answer is not asked again: it may be there or not.
type writers struct {
	pool    *pool
	prefix  string
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu           sync.Mutex
	acknowledged []string // ARNs
	acks         []acknowledgement
}

// writerPause is between two registrations of one writer.
const writerPause = 20 * time.Millisecond

func (p *pool) startWriters(t *testing.T, prefix string) *writers {
	w := &writers{pool: p, prefix: prefix}
	w.ctx, w.cancel = context.WithCancel(t.Context())
	t.Cleanup(w.stop)
	for _, h := range p.Hosts() {
		w.running.Go(func() {
			for w.ctx.Err() == nil {
				w.registerOne(h)
				testbed.Rest(w.ctx, writerPause)
			}
		})
	}
	return w
}

func (w *writers) family(h *testbed.Host) string { return w.prefix + "-" + h.Name }

func (w *writers) registerOne(h *testbed.Host) {
	var answer struct {
		Definition struct {
			ARN string `json:"taskDefinitionArn"`
		} `json:"taskDefinition"`
	}
	asked := time.Now()
	status, err := w.pool.call(h, "RegisterTaskDefinition", object{
		"family": w.family(h), "containerDefinitions": []object{{"name": "c", "image": "pinion/self", "memory": 16}},
	}, &answer)
	if err != nil || status != 200 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acknowledged, w.acks = append(w.acknowledged, answer.Definition.ARN), append(w.acks, acknowledgement{asked, time.Now()})
}

// waitAcknowledged waits until so many definitions are acknowledged that were asked for after the moment, and answers how long
// after it the first one was.
func (w *writers) waitAcknowledged(t *testing.T, moment time.Time, n int) (after time.Duration) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d changes are acknowledged", n), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		later := slices.DeleteFunc(slices.Clone(w.acks), func(a acknowledgement) bool { return !a.sentAt.After(moment) })
		if len(later) >= n {
			after = later[0].ackedAt.Sub(moment)
		}
		return len(later) >= n
	})
	return after
}

func (w *writers) stop() {
	w.cancel()
	w.running.Wait()
}

// check looks whether everything that was acknowledged is there, and answers how much that is.
func (w *writers) check(t *testing.T) int {
	t.Helper()
	there := map[string]bool{}
	for _, h := range w.pool.Hosts() {
		for _, arn := range w.pool.list(t, h, "ListTaskDefinitions", object{"familyPrefix": w.family(h)}) {
			there[arn] = true
		}
	}
	for _, arn := range w.acknowledged {
		if !there[arn] {
			t.Errorf("%s was acknowledged and is lost; %d of %d are there", arn, len(there), len(w.acknowledged))
		}
	}
	return len(w.acknowledged)
}
