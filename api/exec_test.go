package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"pinion/api/client"
	"pinion/api/exec"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// notEnabled are ECS's words.
const notEnabled = "The execute command failed because execute command was not enabled when the task was run or the execute command agent isn't running. Wait and try again or run a new task with execute command enabled and try again."

func TestACommandRunsOnTheHostOfItsTask(t *testing.T) {
	p := newExecPool(t)
	var out bytes.Buffer
	code, err := p.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit}).Exec(t.Context(), p.task, client.ExecRequest{
		Command: []string{"cat"}, Stdin: strings.NewReader(strings.Repeat("hello ", 50_000)), Stdout: &out,
	})
	if err != nil || code != 3 || out.String() != strings.Repeat("hello ", 50_000) {
		t.Errorf("it ends with %d, %v and %d bytes", code, err, out.Len())
	}
}

func TestWhoMayRunCommands(t *testing.T) {
	p := newExecPool(t)
	p.leader.config.Trusted = true
	p.leader.must(t, "RegisterTaskDefinition", strings.NewReplacer("tensorflow-1-gpu", "powerful", `"cpu":1024,`, `"cpu":1024,"linuxParameters":{"capabilities":{"add":["NET_ADMIN"]}},`).Replace(oneGPU))
	closed, powerful := p.start(t, "tensorflow-1-gpu", false), p.start(t, "powerful", true)
	p.leader.config.Trusted = false
	tell := func(key, task string) error {
		_, err := p.client(t, key).Exec(t.Context(), task, client.ExecRequest{Command: []string{"cat"}})
		return err
	}
	for _, key := range []accesskey.Key{
		{ID: "AKIAREAD", Role: accesskey.RoleRead}, {ID: "AKIASUBMIT", Role: accesskey.RoleSubmit}, {ID: "AKIAADMIN", Role: accesskey.RoleAdmin},
		{ID: "AKIALAB", Role: accesskey.RoleAdmin, Cluster: "lab"}, {ID: "AKIATEAM", Role: accesskey.RoleSubmit, Grant: accesskey.Grant{Teams: []string{"vision"}}},
	} {
		p.leader.withKey(t, key)
	}
	for _, c := range []struct {
		key, task string
		allowed   bool
	}{
		{"AKIASUBMIT", p.task, true}, {"AKIAADMIN", p.task, true}, {"AKIAADMIN", closed, true}, {"AKIAADMIN", powerful, true},
		{"AKIAREAD", p.task, false}, {"AKIASUBMIT", closed, false}, {"AKIASUBMIT", powerful, false}, {"AKIALAB", p.task, false}, {"AKIATEAM", p.task, false},
	} {
		err := tell(c.key, c.task)
		refused, is := errors.AsType[*client.APIError](err)
		if c.allowed != (err == nil) || !c.allowed && (!is || refused.Type != wire.AccessDenied) {
			t.Errorf("%s in %s: %v", c.key, c.task, err)
		}
	}
}

// executeCommand sends ExecuteCommand as an AWS client does.
func (p *execPool) executeCommand(t *testing.T, key, body string) reply {
	t.Helper()
	return p.leader.serve(signedBy(t, key, "ExecuteCommand", body))
}

func signedBy(t *testing.T, key, operation, body string) *http.Request {
	r := awsRequest(operation, body)
	r.Header.Set("Authorization", "Bearer "+key+":"+secret)
	return r
}

func TestExecuteCommandAnswersAsOnECS(t *testing.T) {
	p := newExecPool(t)
	closed := func() string {
		p.leader.config.Trusted = true
		defer func() { p.leader.config.Trusted = false }()
		return p.start(t, "tensorflow-1-gpu", false)
	}()
	var answer struct {
		ContainerName string
		Session       exec.Session
		TaskARN       string `json:"taskArn"`
		Interactive   bool
	}
	got := p.executeCommand(t, keyID, `{"task":"`+p.task+`","command":"sh -c 'echo a b'","interactive":true}`)
	if got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	got.decode(t, &answer)
	if !strings.HasPrefix(answer.Session.ID, "ecs-execute-command-") || answer.ContainerName != "tensorflow-gpu" || !answer.Interactive ||
		!strings.Contains(got.Body.String(), `"streamUrl":"wss://example.com/v1/data-channel/`+answer.Session.ID) {
		t.Errorf("%s", got.Body)
	}
	for body, want := range map[string]string{
		`{"task":"` + closed + `","command":"sh","interactive":true}`:                                 notEnabled,
		`{"task":"` + p.task + `","command":"sh","interactive":false}`:                                "interactive must be true: ECS has no other sessions. `pinion exec TASK -- COMMAND` runs a command without a terminal.",
		`{"task":"` + p.task + `","command":"sh 'x","interactive":true}`:                              "command cannot be split into words: EOF found when expecting closing quote.",
		`{"task":"` + p.task + `","command":"","interactive":true}`:                                   "command must name a program, and have at most 32768 bytes in 1024 arguments.",
		`{"task":"` + p.task + `","command":"sh","interactive":true,"container":"other"}`:             "The task has no container \"other\"; it has tensorflow-gpu.",
		`{"task":"` + strings.Repeat("0", 32) + `","command":"sh","interactive":true}`:                "The referenced task was not found.",
		`{"task":"` + p.task + `","command":"` + strings.Repeat("x", 40000) + `","interactive":true}`: "command must name a program, and have at most 32768 bytes in 1024 arguments.",
	} {
		p.executeCommand(t, keyID, body).wantError(t, 400, invalid, want)
	}
	p.leader.disconnected[followerID] = true
	p.executeCommand(t, keyID, `{"task":"`+p.task+`","command":"sh","interactive":true}`).wantType(t, exec.TargetNotConnected)
	p.leader.disconnected[followerID] = false
	p.otherPeer.CloseClientConnections()
	p.otherPeer.Close()
	p.executeCommand(t, keyID, `{"task":"`+p.task+`","command":"sh","interactive":true}`).wantType(t, exec.TargetNotConnected)
	p.leader.reportExited(t, p.task, 0)
	p.executeCommand(t, keyID, `{"task":"`+p.task+`","command":"sh","interactive":true}`).wantError(t, 400, invalid, notEnabled)
}

func (r reply) wantType(t *testing.T, kind string) {
	t.Helper()
	if got := r.Header().Get("X-Amzn-ErrorType"); got != kind {
		t.Errorf("got %d %s", r.Code, r.Body)
	}
}

// opened opens a session as a client of Pinion's own does.
func (p *execPool) opened(t *testing.T) exec.Session {
	t.Helper()
	r := httptest.NewRequest("POST", "/v1/tasks/"+p.task+"/exec", strings.NewReader(`{"command":["cat"]}`))
	got := p.leader.as(bearerKey, r)
	if got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	var s exec.Session
	got.decode(t, &s)
	return s
}

// dial connects to a session with a token, and reports why that does not work.
func (p *execPool) dial(ctx context.Context, server *httptest.Server, session, token string, header http.Header) error {
	connection, response, err := websocket.Dial(ctx, server.URL+exec.ClientPath+session, &websocket.DialOptions{HTTPClient: server.Client(), HTTPHeader: header})
	if err != nil {
		if response != nil {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return err
	}
	defer connection.CloseNow()
	first, _ := json.Marshal(map[string]string{"TokenValue": token})
	if err := errors.Join(connection.Write(ctx, websocket.MessageText, first), connection.Write(ctx, websocket.MessageBinary, []byte("\x00hello"))); err != nil {
		return err
	}
	_, message, err := connection.Read(ctx)
	if err == nil && string(message[1:]) != "hello" {
		err = fmt.Errorf("it answers %q", message)
	}
	return err
}

func TestASessionIsItsClientsAlone(t *testing.T) {
	p := newExecPool(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for name, try := range map[string]func(s exec.Session) error{
		"with another token": func(s exec.Session) error { return p.dial(ctx, p.clients, s.ID, s.Token+"0", nil) },
		"without a token":    func(s exec.Session) error { return p.dial(ctx, p.clients, s.ID, "", nil) },
		"with a token that was used": func(s exec.Session) error {
			if err := p.dial(ctx, p.clients, s.ID, s.Token, nil); err != nil {
				t.Errorf("the first time: %v", err)
			}
			return p.dial(ctx, p.clients, s.ID, s.Token, nil)
		},
		"with the token of another session": func(s exec.Session) error { return p.dial(ctx, p.clients, s.ID, p.opened(t).Token, nil) },
		"from a page of another site": func(s exec.Session) error {
			return p.dial(ctx, p.clients, s.ID, s.Token, http.Header{"Origin": {"https://evil.example"}})
		},
		"of a host that there is not": func(s exec.Session) error {
			return p.dial(ctx, p.clients, strings.Replace(s.ID, followerID, strings.Repeat("9", 32), 1), s.Token, nil)
		},
		"of no form": func(s exec.Session) error { return p.dial(ctx, p.clients, "x", s.Token, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(p.opened(t)); err == nil {
				t.Error("it is open")
			}
		})
	}
	if s := p.opened(t); p.dial(ctx, p.clients, s.ID, s.Token, http.Header{"Origin": {p.clients.URL}}) != nil {
		t.Error("a page of the pool's own may not connect")
	}
}

// What hosts ask of one another about sessions, others ask in vain.
func TestOnlyServersOpenSessionsOnHosts(t *testing.T) {
	p := newExecPool(t)
	s := p.opened(t)
	body := `{"task":"` + p.task + `","container":"tensorflow-gpu","command":["cat"],"admin":true}`
	fromAgent := p.other.config
	fromAgent.FromPeer = sentBy("another-agent", false)
	agents := tlsServer(t, NewHandler(fromAgent))
	for _, path := range []string{"/v1/exec/sessions", "/v1/exec/resume", "/v1/exec/terminate", "/v1/exec/attach/" + s.ID} {
		for name, try := range map[string]func() reply{
			"a client of the leader": func() reply {
				return p.leader.as(bearerKey, httptest.NewRequest("POST", path, strings.NewReader(body)))
			},
			"a client that says it is": func() reply { return send(t, "POST", p.follower.URL+path, body, httpx.HeaderAuthorizedBy, hostID) },
			"root of the agent":        func() reply { return send(t, "POST", p.socket.URL+path, body) },
			"an agent that says it is a server": func() reply {
				return sendTo(t, agents, path, body, httpx.HeaderAuthorizedBy, "another-agent")
			},
			"an agent": func() reply { return sendTo(t, agents, path, body, httpx.HeaderForwarded, "another-agent") },
		} {
			if got := try(); got.Code != http.StatusNotFound && got.Code != http.StatusForbidden {
				t.Errorf("%s, %s: %d %s", path, name, got.Code, got.Body)
			}
		}
	}
}

func sendTo(t *testing.T, server *httptest.Server, path, body string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", server.URL+"/api"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return exchange(t, server.Client(), r)
}

// A client may connect to an agent too: it has the leader carry the messages.
func TestAnAgentCarriesASession(t *testing.T) {
	p := newExecPool(t)
	config := p.leader.config
	config.FromPeer = sentBy("third", false)
	leaders := tlsServer(t, NewHandler(config))
	third := p.other.config
	third.HostID, third.Local, third.Shared = "third", agentState{}, nil
	third.Leader, third.Forward = remoteLeads(leaders.Listener.Addr().String()), leaders.Client().Transport
	clients := httptest.NewTLSServer(NewHandler(third))
	t.Cleanup(clients.Close)
	s := p.opened(t)
	if err := p.dial(t.Context(), clients, s.ID, s.Token, nil); err != nil {
		t.Error(err)
	}
}

// A session that a host on its way cuts off says so, and not only that the connection is gone.
func TestAClientIsToldWhichHostCutsItsSessionOff(t *testing.T) {
	for want, cut := range map[string]func(p *execPool, stop chan struct{}){
		"the host that you talk to is stopping":     func(_ *execPool, stop chan struct{}) { close(stop) },
		"a host on the way to the task is stopping": func(p *execPool, _ chan struct{}) { p.otherPeer.CloseClientConnections() },
	} {
		p, stop := newExecPool(t), make(chan struct{})
		p.clients = httptest.NewTLSServer(newHandler(p.leader.config, stop))
		t.Cleanup(p.clients.Close)
		c := p.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit})
		ended := p.runCat(t, c)
		cut(p, stop)
		if err := <-ended; !errors.Is(err, client.ErrExecInterrupted) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// agentState is the state of a host that has none.
type agentState struct{}

func (agentState) StaleView() (*raftfsm.View, error) { return nil, spec.ErrUnavailable }
