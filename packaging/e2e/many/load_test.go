package many

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// load is a number of clients that each run one witnessed task after the other through whatever host, and ask again
// with the same client token when the outcome is unknown.
type load struct {
	pool    *pool
	t       *testing.T
	prefix  string
	ctx     context.Context
	cancel  context.CancelFunc
	clients sync.WaitGroup

	mu       sync.Mutex
	accepted map[string]string // name of the task to its id
	answered []time.Time       // when each was accepted, in order
}

func (p *pool) startLoad(t *testing.T, clients int, prefix string) *load {
	t.Helper()
	p.define(t, "witnessed", 1, witnessed)
	l := &load{pool: p, t: t, prefix: prefix, accepted: map[string]string{}}
	l.ctx, l.cancel = context.WithCancel(t.Context())
	t.Cleanup(l.stop)
	for client := range clients {
		l.clients.Go(func() {
			for n := 0; l.ctx.Err() == nil; n++ {
				l.one(fmt.Sprintf("%s-%d-%d", prefix, client, n))
			}
		})
	}
	return l
}

// one asks for a task until it is accepted or refused. A request whose outcome is unknown is asked again even when the
// load ends, or nobody could say how many tasks there have to be.
func (l *load) one(name string) {
	for end := time.Now().Add(patience); ; l.pause(20 * time.Millisecond) {
		switch id, retry := l.ask(name); {
		case id != "":
			l.mu.Lock()
			l.accepted[name], l.answered = id, append(l.answered, time.Now())
			l.mu.Unlock()
			l.pause(100 * time.Millisecond)
			return
		case !retry:
			l.pause(50 * time.Millisecond) // no GPU was free
			return
		case time.Now().After(end):
			l.t.Errorf("RunTask %s has no answer after %v", name, patience)
			return
		}
	}
}

func (l *load) ask(name string) (id string, retry bool) {
	hosts := l.pool.Hosts()
	var raw refusal
	status, err := l.pool.call(hosts[rand.IntN(len(hosts))], "RunTask", request("witnessed", name), &raw)
	var answer tasks
	switch {
	case err != nil || status >= 500:
		return "", true
	case status != 200:
		l.t.Errorf("RunTask %s: %d %s", name, status, raw)
		return "", false
	case json.Unmarshal([]byte(raw), &answer) != nil:
		l.t.Errorf("RunTask %s: %s", name, raw)
		return "", false
	case len(answer.Tasks) == 1:
		return answer.Tasks[0].id(), false
	}
	return "", false
}

// pause gives the hosts air.
func (l *load) pause(d time.Duration) { <-time.After(d) }

// next waits until a task is accepted after the moment, and answers how long after.
func (l *load) next(t *testing.T, moment time.Time) (after time.Duration) {
	t.Helper()
	eventually(t, "a task is accepted", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		i := slices.IndexFunc(l.answered, func(at time.Time) bool { return at.After(moment) })
		if i >= 0 {
			after = l.answered[i].Sub(moment)
		}
		return i >= 0
	})
	return after
}

func (l *load) stop() {
	l.cancel()
	l.clients.Wait()
}

// check waits until all accepted tasks are over, and checks that each exists exactly once and met nobody on its GPU.
func (l *load) check(t *testing.T) {
	t.Helper()
	h := l.pool.Hosts()[0]
	for name, id := range l.accepted {
		done := l.pool.wait(t, h, id, "STOPPED")
		if len(done.Containers) != 1 || done.Containers[0].ExitCode == nil || *done.Containers[0].ExitCode != 0 {
			t.Errorf("task %s: %v", name, done)
		}
		var listed struct {
			ARNs []string `json:"taskArns"`
		}
		l.pool.must(t, h, "ListTasks", object{"startedBy": name, "desiredStatus": "STOPPED"}, &listed)
		if len(listed.ARNs) != 1 || listed.ARNs[0] != done.ARN {
			t.Errorf("task %s was accepted as %s, and there is %v", name, id, listed.ARNs)
		}
	}
	var running struct {
		ARNs []string `json:"taskArns"`
	}
	l.pool.must(t, h, "ListTasks", object{"family": "witnessed"}, &running)
	if len(running.ARNs) > 0 {
		t.Errorf("tasks that nobody was told of: %v", running.ARNs)
	}
	l.pool.nothingWitnessed(t)
	t.Logf("%d tasks were accepted", len(l.accepted))
}
