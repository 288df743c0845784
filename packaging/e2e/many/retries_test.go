package many

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

var retries = flag.Int("retries", 2000, "how many requests are made of which most ask for a task that was asked for before, while the leader is killed")

// retriesEach is how many requests there are for one task, about.
const retriesEach = 50

// TestRetriesAreOneTaskEach asks for the same tasks again and again, by their client tokens, through all servers, and
// kills the leader halfway. Every answer about a token names the same task, and each task runs once.
func TestRetriesAreOneTaskEach(t *testing.T) {
	plain := []string{"--gpus", "none"}
	p := up(t, plain, plain, plain)
	p.define(t, "again", 0, onceScript)
	l := &load{pool: p, t: t, family: "again", clients: p.ecsClients(t), accepted: map[string]string{}}
	var failed context.CancelFunc
	l.ctx, failed = context.WithCancel(t.Context())
	defer failed()
	l.cancel = failed

	leader, killed := p.leader(t), make(chan error, 1)
	var answers atomic.Int64
	work := make(chan string)
	var running sync.WaitGroup
	for range *clients {
		running.Go(func() {
			for name := range work {
				if l.retryUntilAccepted(name) {
					answers.Add(1)
				}
			}
		})
	}
	for n := range *retries {
		if n == *retries/2 {
			go func() { killed <- leader.Kill(t.Context()) }()
		}
		youngest := n / retriesEach
		work <- fmt.Sprintf("again-%d", youngest-rand.IntN(youngest+1))
	}
	close(work)
	running.Wait()
	must(t, <-killed)
	p.start(t, leader)
	p.waitConverged(t)
	tasks := l.check()
	p.checkStatesEqual(t)
	recordCount("requests with a client token over the loss of the leader, all answered", int(answers.Load()))
	recordCount("tasks that they asked for, each there once and run once", tasks)
}

// retryUntilAccepted asks until there is an answer, and wants the one that was given before.
func (l *load) retryUntilAccepted(name string) (answered bool) {
	for end := time.Now().Add(waitTimeout); l.ctx.Err() == nil; testbed.Rest(l.ctx, retryPause) {
		out, err := runTask(l.ctx, l.clients[rand.IntN(len(l.clients))], l.family, name)
		switch {
		case err == nil && len(out.Tasks) == 1:
			l.recordAccepted(name, *out.Tasks[0].TaskArn)
			return true
		case statusOf(err) >= 400 && statusOf(err) < 500, time.Now().After(end):
			l.fail("RunTask %s: %+v, %v", name, out, err)
		}
	}
	return false
}

// recordAccepted fails the test when the task of that name was another one before.
func (l *load) recordAccepted(name, arn string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before := l.accepted[name]; before != "" && before != arn {
		l.t.Errorf("task %s was accepted as %s and then as %s", name, before, arn)
	}
	l.accepted[name] = arn
}
