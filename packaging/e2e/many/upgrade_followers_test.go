package many

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/packaging/testbed"
)

// countingScript writes a number every 20 ms, until there is a file /w/end-count.
const countingScript = `i=0; while [ ! -e /w/end-count ]; do i=$((i+1)); echo $ME $i; usleep 20000; done`

// TestWhatClientsFollowGoesOnOverAnUpgrade exchanges the program of every host while commands follow logs and events through each of them, and a command
// runs in a task. What is followed goes on by itself, with no line or event lost or twice; the command says why it ends.
func TestWhatClientsFollowGoesOnOverAnUpgrade(t *testing.T) {
	p := newUpgradedPool(t, 3)
	second := p.release(t, "second", nil)
	p.define(t, "counting", 8, countingScript) // all GPUs of a host: one on each
	tasks := map[string]task{}
	for i, h := range p.Hosts() {
		name := fmt.Sprintf("counting-%d", i)
		tasks[name] = p.run(t, h, "counting", name)
	}
	var ids []string
	for name, made := range tasks {
		tasks[name] = p.wait(t, p.Hosts()[0], made.id(), "RUNNING")
		ids = append(ids, made.id())
	}
	p.mustCall(t, p.Hosts()[0], "CreateService", object{"serviceName": "moved", "taskDefinition": "counting", "desiredCount": 0}, &object{})

	logs, events, service := map[string]*follower{}, map[string]*follower{}, map[string]*follower{}
	for _, h := range p.Hosts() {
		for name, made := range tasks {
			logs[h.Name+" "+name] = p.follow(t, h, "logs", "-f", made.id())
		}
		logs[h.Name+" all"] = p.follow(t, h, append([]string{"logs", "-f"}, ids...)...)
		events[h.Name] = p.follow(t, h, "events", "-f", "--type", "cluster", "-o", "json")
		service[h.Name] = p.follow(t, h, "service", "events", "-f", "moved", "-o", "json")
	}
	sessions := p.openSessions(t, tasks)
	made := p.createClusters(t)
	for _, f := range slices.Concat(values(logs), values(events)) {
		f.waitForLines(t, 1)
	}
	before := len(values(events)[0].lines())
	p.mustUpgrade(t, "--to", second, "--all", "--dwell", "0s")
	p.programsAre(t, "second")
	clusters := made()[before+10:] // those before may be from before a command has begun

	must(t, os.WriteFile(filepath.Join(p.witness, "end-count"), nil, 0o600))
	for name, made := range tasks {
		p.wait(t, p.Hosts()[0], made.id(), "STOPPED")
		whole, err := p.Hosts()[0].Pinion("logs", made.id())
		must(t, err)
		for _, h := range p.Hosts() {
			logs[h.Name+" "+name].checkCounts(t, name, strings.Count(whole, "\n"))
			logs[h.Name+" all"].checkCounts(t, name, strings.Count(whole, "\n"))
		}
	}
	for _, h := range p.Hosts() {
		events[h.Name].checkClusters(t, clusters)
		checkServiceEvents(t, p, h, service[h.Name])
	}
	for name, ended := range sessions {
		if err := <-ended; !strings.Contains(err.Error(), "the task runs on") && !strings.Contains(err.Error(), "The task runs on") {
			t.Errorf("a command through %s: %v", name, err)
		}
	}
}

// values are the values of a map.
func values[T any](of map[string]T) (all []T) {
	for _, value := range of {
		all = append(all, value)
	}
	return all
}

// follower is a command that follows something.
type follower struct {
	name  string
	ended chan struct{}
	err   error           // when it has ended
	note  strings.Builder // its standard error, likewise

	mu   sync.Mutex
	text strings.Builder
}

// Write takes what the command writes.
func (f *follower) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(text)
}

func (f *follower) lines() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := strings.Split(f.text.String(), "\n")
	return lines[:len(lines)-1] // the last one is not whole
}

func (f *follower) waitForLines(t *testing.T, n int) {
	t.Helper()
	eventually(t, f.name+" has lines", func() bool { return len(f.lines()) >= n })
}

// follow begins a command that follows something through a host, until the test ends.
func (p *pool) follow(t *testing.T, h *testbed.Host, args ...string) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{name: h.Name + ": pinion " + strings.Join(args, " "), ended: make(chan struct{})}
	cmd := exec.CommandContext(ctx, h.Binary(), append([]string{"--data-dir", h.Dir}, args...)...)
	cmd.Stdout, cmd.Stderr = f, &f.note
	go func() {
		defer close(f.ended)
		f.err = h.Run(cmd)
	}()
	t.Cleanup(func() { cancel(); <-f.ended })
	return f
}

// checkCounts waits for the end of a command that follows logs, and checks that it has all numbers of a task, so many, once and in order.
func (f *follower) checkCounts(t *testing.T, name string, want int) {
	t.Helper()
	eventually(t, f.name+" ends with its tasks", func() bool {
		select {
		case <-f.ended:
			return true
		default:
			return false
		}
	})
	if f.err != nil {
		t.Fatalf("%s: %v: %s", f.name, f.err, f.note.String())
	}
	next := 1
	for _, line := range f.lines() {
		at := strings.Index(line, name+" ")
		if at < 0 {
			continue
		}
		if got := line[at:]; got != fmt.Sprintf("%s %d", name, next) {
			t.Fatalf("%s: %q in the place of number %d: %s", f.name, got, next, f.note.String())
		}
		next++
	}
	if next-1 != want || want < 100 {
		t.Errorf("%s: %d lines of %s, which are %d: %s", f.name, next-1, name, want, f.note.String())
	}
}

// createClusters creates clusters until made is called, which returns the names of those that were acknowledged.
func (p *pool) createClusters(t *testing.T) (made func() []string) {
	ctx, cancel := context.WithCancel(t.Context())
	var names []string
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("followed-%d", n)
			if status, err := p.call(p.Hosts()[n%len(p.Hosts())], "CreateCluster", object{"clusterName": name}, &object{}); err == nil && status == 200 {
				names = append(names, name)
			}
			testbed.Rest(ctx, 100*time.Millisecond)
		}
	})
	stop := func() []string {
		cancel()
		running.Wait()
		return names
	}
	t.Cleanup(func() { stop() })
	return stop
}

// checkClusters checks that a command that follows events has had that of each cluster once.
func (f *follower) checkClusters(t *testing.T, names []string) {
	t.Helper()
	count := func() map[string]int {
		seen := map[string]int{}
		for _, line := range f.lines() {
			var e struct {
				Detail struct {
					Name string `json:"clusterName"`
				} `json:"detail"`
			}
			must(t, json.Unmarshal([]byte(line), &e))
			seen[e.Detail.Name]++
		}
		return seen
	}
	eventually(t, f.name+" has the last event", func() bool { return count()[names[len(names)-1]] > 0 })
	seen := count()
	for _, name := range names {
		if seen[name] != 1 {
			t.Errorf("%s: the event of %s %d times", f.name, name, seen[name])
		}
	}
	t.Logf("%s: %d events", f.name, len(f.lines()))
}

// checkServiceEvents checks that a command has shown the events of a service as they are, each once.
func checkServiceEvents(t *testing.T, p *upgradedPool, h *testbed.Host, f *follower) {
	t.Helper()
	p.mustCall(t, h, "UpdateService", object{"service": "moved", "desiredCount": 0, "forceNewDeployment": true}, &object{})
	eventually(t, f.name+" shows all events, each once", func() bool {
		all, err := h.Pinion("service", "events", "moved", "-o", "json")
		return err == nil && all != "" && all == strings.Join(f.lines(), "\n")+"\n"
	})
}

// openSessions runs a command in a task through each host.
func (p *pool) openSessions(t *testing.T, tasks map[string]task) map[string]chan error {
	t.Helper()
	sessions := map[string]chan error{}
	for i, h := range p.Hosts() {
		ended := make(chan error, 1)
		id := tasks[fmt.Sprintf("counting-%d", i)].id()
		go func() {
			_, err := h.Pinion("exec", id, "--", "sh", "-c", "sleep 600; echo it goes on")
			ended <- err
		}()
		sessions[h.Name] = ended
	}
	return sessions
}
