package api

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/api/client"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/execcommand"
)

// execPool is two hosts: the leader, with a listener for clients, and an agent with a task, in which commands answer with their input.
type execPool struct {
	*twoHosts
	clients *httptest.Server
	task    string
}

func newExecPool(t *testing.T) *execPool {
	t.Helper()
	p := &execPool{twoHosts: newTwoHosts(t)}
	agent := newHost(followerID, "gpu-2", 4)
	agent.Allow, agent.MemoryMiB = []string{"NET_ADMIN"}, 1<<16
	agent.Address = p.otherPeer.Listener.Addr().String()
	p.leader.mustApply(t, raftfsm.PutHost{Host: agent})
	p.leader.config.Forward, p.leader.config.Trusted, p.leader.config.Local = p.otherPeer.Client().Transport, true, followerState{p.leader.state, nil}
	p.leader.must(t, "RegisterTaskDefinition", oneGPU)
	p.task = p.start(t, "tensorflow-1-gpu", true)
	p.leader.config.Trusted = false
	p.other.agent.exec = echo
	p.clients = httptest.NewTLSServer(NewHandler(p.leader.config))
	t.Cleanup(p.clients.Close)
	return p
}

// start starts a task on the agent.
func (p *execPool) start(t *testing.T, family string, exec bool) string {
	t.Helper()
	var answer runOutput
	p.leader.must(t, "StartTask", fmt.Sprintf(`{"taskDefinition":%q,"containerInstances":[%q],"enableExecuteCommand":%t}`, family, followerID, exec)).decode(t, &answer)
	id := answer.Tasks[0].ARN[strings.LastIndex(answer.Tasks[0].ARN, "/")+1:]
	p.leader.reportRunning(t, id)
	return id
}

// echo is a command that answers with its input, and ends with 3.
func echo(ctx context.Context, r execcommand.Request) (int, error) {
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(r.Stdout, r.Stdin)
		ended <- err
	}()
	select {
	case err := <-ended:
		return 3, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// client is one with a key, at the listener for clients.
func (p *execPool) client(t *testing.T, keyID string) *client.Client {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.clients.Certificate().Raw})
	c, err := client.New(client.Config{Host: p.clients.Listener.Addr().String(), KeyID: keyID, Secret: secret, CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (p *execPool) withKey(t *testing.T, like accesskey.Key) *client.Client {
	t.Helper()
	p.leader.withKey(t, like)
	return p.client(t, like.ID)
}

// runCat begins a command that answers with its input, and returns when it has: its error comes when it ends.
func (p *execPool) runCat(t *testing.T, c *client.Client) (ended chan error) {
	t.Helper()
	in, keys := io.Pipe()
	shown, screen := io.Pipe()
	ended = make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), p.task, client.ExecRequest{Command: []string{"cat"}, Stdin: in, Stdout: screen})
		ended <- err
	}()
	fmt.Fprint(keys, "hello")
	if _, err := io.ReadFull(shown, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	return ended
}
