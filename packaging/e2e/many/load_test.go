package many

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"pinion/packaging/testbed"
)

// load is a number of clients that each run one witnessed task after the other through whatever host, and ask another
// host with the same client token when the outcome is unknown.
type load struct {
	pool    *pool
	t       *testing.T
	family  string // its own, so that its tasks can be listed
	clients []*ecs.Client
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	failed  sync.Once

	mu       sync.Mutex
	accepted map[string]string // name of the task to its ARN
	acks     []acknowledgement // of the accepted ones, in the order of their answers
}

type acknowledgement struct{ sentAt, ackedAt time.Time }

// retryPause is between two requests about the same task.
const retryPause = 20 * time.Millisecond

// gpusEach is how many GPUs a task of the load has, so that a few tasks fill a host and GPUs change hands all the time.
const gpusEach = 4

// startLoad starts the clients with a task definition of their own.
func (p *pool) startLoad(t *testing.T, sdks []*ecs.Client, family string) *load {
	t.Helper()
	p.define(t, family, gpusEach, witnessedScript)
	l := &load{pool: p, t: t, family: family, clients: sdks, accepted: map[string]string{}}
	l.ctx, l.cancel = context.WithCancel(t.Context())
	t.Cleanup(l.stop)
	for client := range *clients {
		l.running.Go(func() { l.runClient(client) })
	}
	return l
}

// runClient runs tasks at its share of the pace of all.
func (l *load) runClient(number int) {
	rest := *pace * time.Duration(*clients)
	for n := 0; ; n++ {
		testbed.Rest(l.ctx, rand.N(2*rest))
		if l.ctx.Err() != nil {
			return
		}
		l.runUntilAccepted(fmt.Sprintf("%s-%d-%d", l.family, number, n))
	}
}

// runUntilAccepted asks for a task until it is accepted or refused. A request whose outcome is unknown is asked again even when the
// load ends, or nobody could say how many tasks there have to be.
func (l *load) runUntilAccepted(name string) {
	for end := time.Now().Add(waitTimeout); ; testbed.Rest(context.Background(), retryPause) {
		asked := time.Now()
		out, err := runTask(context.Background(), l.clients[rand.IntN(len(l.clients))], l.family, name)
		switch {
		case err == nil && len(out.Tasks) == 1:
			l.mu.Lock()
			l.accepted[name], l.acks = *out.Tasks[0].TaskArn, append(l.acks, acknowledgement{asked, time.Now()})
			l.mu.Unlock()
			return
		case err == nil: // no GPU was free, or no host in touch
			return
		case statusOf(err) >= 400 && statusOf(err) < 500:
			l.fail("RunTask %s: %v", name, err)
			return
		case time.Now().After(end):
			l.fail("RunTask %s has no answer after %v: %v", name, waitTimeout, err)
			return
		}
	}
}

// fail ends the load. What fails for one client fails for many: only the first is told.
func (l *load) fail(format string, args ...any) {
	l.failed.Do(func() { l.t.Errorf(format, args...) })
	l.cancel()
}

// statusOf is the HTTP status of an answer that is an error, 0 when there was no answer.
func statusOf(err error) int {
	answer, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err)
	if !ok {
		return 0
	}
	return answer.HTTPStatusCode()
}

// waitAccepted waits until a task is accepted that was asked for after the moment, and answers how long after.
func (l *load) waitAccepted(moment time.Time) (after time.Duration) {
	l.t.Helper()
	eventually(l.t, "a task is accepted", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		i := slices.IndexFunc(l.acks, func(a acknowledgement) bool { return a.sentAt.After(moment) })
		if i >= 0 {
			after = l.acks[i].ackedAt.Sub(moment)
		}
		return i >= 0
	})
	return after
}

func (l *load) stop() {
	l.cancel()
	l.running.Wait()
}

// check waits until all tasks are over, and checks that there is exactly one for each that was accepted and no other,
// that each ran once, and that none met another on its GPUs. It answers how many there were.
func (l *load) check() int {
	l.t.Helper()
	h := l.pool.Hosts()[0]
	var left []string
	defer func() {
		if len(left) > 0 {
			l.t.Logf("not over: %v", l.pool.describeAll(l.t, h, left))
		}
	}()
	eventually(l.t, "all tasks of "+l.family+" are over", func() bool {
		left = l.pool.list(l.t, h, "ListTasks", object{"family": l.family})
		return len(left) == 0
	})
	byName := map[string][]task{}
	for _, one := range l.pool.describeAll(l.t, h, l.pool.list(l.t, h, "ListTasks", object{"family": l.family, "desiredStatus": "STOPPED"})) {
		byName[one.StartedBy] = append(byName[one.StartedBy], one)
		if l.accepted[one.StartedBy] == "" {
			l.t.Errorf("a task that nobody was told of: %v", one)
		}
	}
	for name, arn := range l.accepted {
		if same := byName[name]; len(same) != 1 || same[0].ARN != arn {
			l.t.Errorf("task %s was accepted as %s, and there is %v", name, arn, same)
			continue
		}
		l.pool.checkExit(l.t, map[string]task{name: byName[name][0]}, 0)
	}
	l.pool.checkRunCount(l.t, l.family, len(l.accepted))
	l.pool.checkNoOverlap(l.t)
	return len(l.accepted)
}
