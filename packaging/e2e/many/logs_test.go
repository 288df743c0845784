package many

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/packaging/testbed"
)

// loggedTasks is how many tasks the service of this test has, over three hosts.
const loggedTasks = 6

// logged is a line as `pinion logs -o json` prints it.
type logged struct {
	Time time.Time `json:"time"`
	Task string    `json:"task"`
	Text string    `json:"text"`
}

// TestLogsOverHosts reads the logs of a service on three hosts as one, and follows them while a task is replaced and while a host is away.
func TestLogsOverHosts(t *testing.T) {
	none := func() []string { return []string{"--gpus", "none"} }
	p := up(t, none(), none(), none())
	h := p.Hosts()[0]
	container := object{"name": "main", "image": "busybox", "memory": 16, "stopTimeout": 1,
		"command": []string{"sh", "-c", `trap 'exit 0' TERM; i=0; while :; do i=$((i+1)); echo "line $i"; usleep 10000; done`}}
	p.mustCall(t, h, "RegisterTaskDefinition", object{"family": "logged", "networkMode": "none", "containerDefinitions": []object{container}}, &object{})
	p.mustCall(t, h, "CreateService", object{"serviceName": "logged", "taskDefinition": "logged", "desiredCount": loggedTasks,
		"placementStrategy": []object{{"type": "spread", "field": "instanceId"}}}, &object{})
	p.waitRunning(t, h, "logged", loggedTasks)
	t.Run("all lines come once and in order while a task is replaced", p.testFollowedService)
	t.Run("what is there is in the order of time", p.testLogsOfAService)
	t.Run("a host that is away is named and the others go on", p.testLogsWithoutAHost)
}

// waitRunning waits until a service has so many running tasks, and returns them.
func (p *pool) waitRunning(t *testing.T, h *testbed.Host, service string, n int) (running []task) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d tasks of %s run", n, service), func() bool {
		var list struct {
			ARNs []string `json:"taskArns"`
		}
		var all tasks
		p.mustCall(t, h, "ListTasks", object{"serviceName": service}, &list)
		if len(list.ARNs) != n {
			return false
		}
		p.mustCall(t, h, "DescribeTasks", object{"tasks": list.ARNs}, &all)
		running = all.Tasks
		return !slices.ContainsFunc(running, func(one task) bool { return one.LastStatus != "RUNNING" })
	})
	return running
}

// logFollower is a `pinion logs -f` that runs.
type logFollower struct {
	mu    sync.Mutex
	lines map[string][]logged // by task
	notes bytes.Buffer
	end   func()
}

// followLogs begins to follow.
func (p *pool) followLogs(t *testing.T, h *testbed.Host, args ...string) *logFollower {
	t.Helper()
	f := &logFollower{lines: map[string][]logged{}}
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, h.Binary(), append([]string{"--data-dir", h.Dir, "logs", "-f", "-o", "json"}, args...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGINT) }
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, lockedWriter{&f.mu, &f.notes}
	var done sync.WaitGroup
	done.Go(func() {
		_ = h.Run(cmd)
		in.Close()
	})
	done.Go(func() {
		for lines := json.NewDecoder(out); ; {
			var line logged
			if lines.Decode(&line) != nil {
				return
			}
			f.mu.Lock()
			f.lines[line.Task] = append(f.lines[line.Task], line)
			f.mu.Unlock()
		}
	})
	f.end = sync.OnceFunc(func() { cancel(); done.Wait() })
	t.Cleanup(f.end)
	return f
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// count is how many lines of a task have come.
func (f *logFollower) count(task string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.lines[task])
}

func (f *logFollower) said() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.notes.String()
}

func (p *pool) testFollowedService(t *testing.T) {
	h := p.Hosts()[1]
	before := p.waitRunning(t, h, "logged", loggedTasks)
	f := p.followLogs(t, h, "service/logged")
	for _, one := range before {
		eventually(t, "lines of "+one.id(), func() bool { return f.count(one.id()) > 100 })
	}
	gone := before[0]
	p.mustCall(t, h, "StopTask", object{"task": gone.id()}, &object{})
	var joined task
	eventually(t, "another task takes its place", func() bool {
		for _, one := range p.waitRunning(t, h, "logged", loggedTasks) {
			if !slices.ContainsFunc(before, func(o task) bool { return o.ARN == one.ARN }) {
				joined = one
			}
		}
		return joined.ARN != ""
	})
	eventually(t, "its lines", func() bool { return f.count(joined.id()) > 100 })
	eventually(t, "who joins and leaves is said", func() bool {
		return strings.Contains(f.said(), joined.id()[:12]+" joins") && strings.Contains(f.said(), gone.id()[:12]+" on host ") && strings.Contains(f.said(), "has ended")
	})
	f.end()
	if len(f.lines) != loggedTasks+1 {
		t.Errorf("lines of %d tasks, want %d", len(f.lines), loggedTasks+1)
	}
	for id, lines := range f.lines {
		wantLines(t, id, lines)
	}
	text, err := h.Pinion("logs", "-o", "json", gone.id())
	if whole := strings.Count(text, "\n"); err != nil || whole != len(f.lines[gone.id()]) {
		t.Errorf("the log of the task that ended has %d lines, %v; %d were followed", whole, err, len(f.lines[gone.id()]))
	}
}

// wantLines wants the lines of a task from the first one on, each once and in order.
func wantLines(t *testing.T, id string, lines []logged) {
	t.Helper()
	for i, line := range lines {
		if want := fmt.Sprint("line ", i+1); line.Text != want || i > 0 && line.Time.Before(lines[i-1].Time) {
			t.Errorf("%s: line %d of %d is %q", id, i+1, len(lines), line.Text)
			return
		}
	}
}

// readLogs are the lines of a `pinion logs` that does not follow.
func readLogs(t *testing.T, h *testbed.Host, args ...string) (lines []logged) {
	t.Helper()
	text, err := h.Pinion(append([]string{"logs", "-o", "json"}, args...)...)
	if err != nil {
		t.Error(err)
	}
	for raw := range strings.Lines(text) {
		var line logged
		must(t, json.Unmarshal([]byte(raw), &line))
		lines = append(lines, line)
	}
	return lines
}

func (p *pool) testLogsOfAService(t *testing.T) {
	h := p.Hosts()[2]
	now := time.Now().UTC()
	all := readLogs(t, h, "service/logged", "--until", now.Format(time.RFC3339Nano))
	byTask := map[string][]logged{}
	for _, line := range all {
		byTask[line.Task] = append(byTask[line.Task], line)
	}
	for id, lines := range byTask {
		wantLines(t, id, lines)
	}
	if len(byTask) != loggedTasks+1 || !slices.IsSortedFunc(all, func(a, b logged) int { return a.Time.Compare(b.Time) }) {
		t.Errorf("%d lines of %d tasks, in order: %t", len(all), len(byTask), slices.IsSortedFunc(all, func(a, b logged) int { return a.Time.Compare(b.Time) }))
	}
	since, until := all[len(all)/3].Time, all[len(all)*2/3].Time
	for name, c := range map[string]struct {
		args []string
		has  func(logged) bool
	}{
		"since and until": {nil, func(logged) bool { return true }},
		"grep":            {[]string{"--grep", "[13]7$"}, func(l logged) bool { return strings.HasSuffix(l.Text, "17") || strings.HasSuffix(l.Text, "37") }},
		"inverted":        {[]string{"--grep", "7$", "--invert-match"}, func(l logged) bool { return !strings.HasSuffix(l.Text, "7") }},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(l logged) bool { return l.Time.Before(since) || !l.Time.Before(until) || !c.has(l) })
		got := readLogs(t, h, append([]string{"--family", "logged", "--since", since.Format(time.RFC3339Nano), "--until", until.Format(time.RFC3339Nano)}, c.args...)...)
		if !sameLogged(got, want) {
			t.Errorf("%s: %d lines, want %d", name, len(got), len(want))
		}
	}
}

// sameLogged compares lines; those of one time come in any order of their tasks.
func sameLogged(a, b []logged) bool {
	order := func(x, y logged) int {
		if c := x.Time.Compare(y.Time); c != 0 {
			return c
		}
		return strings.Compare(x.Task+x.Text, y.Task+y.Text)
	}
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

func (p *pool) testLogsWithoutAHost(t *testing.T) {
	h, away := p.Hosts()[0], p.Hosts()[2]
	hosts, err := p.hostsByName(h)
	must(t, err)
	running := p.waitRunning(t, h, "logged", loggedTasks)
	must(t, away.Kill(t.Context()))
	defer func() { p.start(t, away); p.waitConverged(t) }()
	text, err := h.Pinion("logs", "-o", "json", "--tail", "5", "service/logged")
	if err == nil || !strings.Contains(err.Error(), away.Name) {
		t.Errorf("the host that is away is not named: %v", err)
	}
	if !slices.ContainsFunc(running, func(one task) bool { return one.host() == hosts[away.Name].ID }) {
		t.Fatalf("no task is on %s: %v", away.Name, running)
	}
	for _, one := range running {
		if has := strings.Contains(text, one.id()); has == (one.host() == hosts[away.Name].ID) {
			t.Errorf("task %s on %s: shown %t", one.id(), one.host(), has)
		}
	}
}
