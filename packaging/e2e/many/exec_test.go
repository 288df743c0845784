package many

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"pinion/api/client"
	"pinion/packaging/testbed"
)

// testCommandsOverHosts runs commands in a task of an agent through every host, and in a session that goes on while the leader is killed.
func (p *pool) testCommandsOverHosts(t *testing.T) {
	servers, leader := p.serverHosts(t), p.leader(t)
	notServer := func(h *testbed.Host) bool { return !slices.Contains(servers, h) }
	agent := p.Hosts()[slices.IndexFunc(p.Hosts(), notServer)]
	follower := servers[slices.IndexFunc(servers, func(h *testbed.Host) bool { return h != leader })]
	hosts, err := p.hostsByName(leader)
	must(t, err)
	p.define(t, "exec", 0, "trap exit TERM; sleep 3600 & wait")
	var started tasks
	p.mustCall(t, leader, "StartTask", object{"taskDefinition": "exec", "containerInstances": []string{hosts[agent.Name].ID}, "enableExecuteCommand": true}, &started)
	id := started.Tasks[0].id()
	defer p.mustCall(t, agent, "StopTask", object{"task": id, "force": true}, &object{})
	p.wait(t, leader, id, "RUNNING")
	for _, h := range p.Hosts() {
		c, err := p.client(h)
		must(t, err)
		var out bytes.Buffer
		code, err := c.Exec(t.Context(), id, client.ExecRequest{Command: []string{"sh", "-c", "cat; exit 7"}, Stdin: bytes.NewReader(make([]byte, 1<<20)), Stdout: &out})
		if err != nil || code != 7 || out.Len() != 1<<20 {
			t.Errorf("through %s: %d, %v and %d bytes", h.Name, code, err, out.Len())
		}
	}

	c, err := p.client(follower)
	must(t, err)
	if *kills >= 100 { // in `make soak`: longer than any deadline of a message
		if code, err := c.Exec(t.Context(), id, client.ExecRequest{Command: []string{"sh", "-c", "sleep 90; exit 5"}}); err != nil || code != 5 {
			t.Errorf("a silent session ends with %d, %v", code, err)
		}
	}
	in, keys := io.Pipe()
	shown, screen := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), id, client.ExecRequest{Command: []string{"cat"}, Stdin: in, Stdout: screen})
		screen.CloseWithError(err)
		ended <- err
	}()
	lines := bufio.NewReader(shown)
	echo := func(line string) {
		t.Helper()
		fmt.Fprintln(keys, line)
		if got, err := lines.ReadString('\n'); got != line+"\n" {
			t.Errorf("%q comes back as %q, %v", line, got, err)
		}
	}
	echo("before")
	must(t, leader.Kill(t.Context()))
	echo("while nobody leads")
	p.leader(t)
	echo("another leads")
	keys.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	p.start(t, leader)
	p.waitConverged(t)
}
