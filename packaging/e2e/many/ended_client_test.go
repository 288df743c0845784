package many

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"pinion/packaging/testbed"
	"pinion/raftfsm/ended"
)

// endedClients is how many clients end tasks at the same time.
const endedClients = 4

// endedTask is how a client saw a task that has ended.
type endedTask struct {
	StopCode string
	Outcome  ended.Outcome
	ackedAt  time.Time // when a linearizable read said first that it is STOPPED
}

// endedModel is the history as clients know it: every task that a host has said is STOPPED.
type endedModel struct {
	pool    *pool
	t       *testing.T
	ctx     context.Context // its end lets the clients finish the task that they are at
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	acked map[string]endedTask // by id
}

// startEnding has clients run tasks that end, through whatever host: most are stopped in the queue, which costs a machine nothing, others
// run a container that succeeds or fails.
func (p *pool) startEnding(t *testing.T) *endedModel {
	t.Helper()
	p.define(t, "ending", 0, `case $ME in *[13579]) exit 3;; esac`)
	p.define(t, "queued", 8, "exit 4") // no host has a GPU
	m := &endedModel{pool: p, t: t, acked: map[string]endedTask{}}
	m.ctx, m.cancel = context.WithCancel(t.Context())
	t.Cleanup(m.stop)
	for client := range endedClients {
		m.running.Go(func() {
			for n := 0; m.ctx.Err() == nil; n++ {
				if !m.endOne(fmt.Sprintf("ended-%d-%d", client, n), client == 0) {
					return
				}
			}
		})
	}
	return m
}

func (m *endedModel) stop() {
	m.cancel()
	m.running.Wait()
}

// endOne runs a task, stops it unless it runs a container, and waits until a host says that it is STOPPED.
func (m *endedModel) endOne(name string, container bool) (ok bool) {
	in := namedRunTask("ending", name)
	if !container {
		in = namedRunTask("queued", name)
		in["capacityProviderStrategy"] = []object{{"capacityProvider": "PINION"}}
	}
	var started tasks
	for len(started.Tasks) == 0 { // a host that has just begun again is none to run containers on yet
		if started = (tasks{}); !m.ask("RunTask", in, &started) {
			return false
		}
	}
	id := started.Tasks[0].id()
	if !container && !m.ask("StopTask", object{"task": id}, &object{}) {
		return false
	}
	for {
		var seen tasks
		if !m.ask("DescribeTasks", object{"tasks": []string{id}}, &seen) {
			return false
		}
		if len(seen.Tasks) == 1 && seen.Tasks[0].LastStatus == "STOPPED" {
			m.acknowledge(id, seen.Tasks[0])
			return true
		}
		testbed.Rest(context.Background(), retryPause)
	}
}

// ask asks hosts by chance until one answers. What is refused fails the test.
func (m *endedModel) ask(operation string, in, out any) bool {
	for end := time.Now().Add(waitTimeout); ; testbed.Rest(context.Background(), retryPause) {
		hosts := m.pool.Hosts()
		var raw rawBody
		status, err := m.pool.call(hosts[rand.IntN(len(hosts))], operation, in, &raw)
		switch {
		case err == nil && status == http.StatusOK:
			if err := json.Unmarshal([]byte(raw), out); err != nil {
				m.t.Errorf("%s: %v", operation, err)
			}
			return err == nil
		case err == nil && status < 500 || time.Now().After(end):
			m.t.Errorf("%s: %d %s, %v", operation, status, raw, err)
			return false
		}
	}
}

func (m *endedModel) acknowledge(id string, seen task) {
	e := endedTask{StopCode: seen.StopCode, Outcome: ended.Failed, ackedAt: time.Now()}
	if exit := seen.Containers[0].ExitCode; seen.StopCode == "UserInitiated" {
		e.Outcome = ended.Stopped
	} else if exit != nil && *exit == 0 {
		e.Outcome = ended.Succeeded
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.acked[id] = e
}

// snapshot is what has been acknowledged so far.
func (m *endedModel) snapshot() map[string]endedTask {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.acked)
}
