package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"pinion/api/client"
	"pinion/api/exec"
	"pinion/api/exec/datachannel"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/execcommand"
)

func TestASessionEndsWithItsKey(t *testing.T) {
	p := newExecPool(t)
	c := p.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit})
	ended := p.runCat(t, c)
	p.leader.mustApply(t, raftfsm.Wrap(credential.Delete{ID: "AKIASUBMIT"}))
	if err := <-ended; !errors.Is(err, client.ErrExecInterrupted) || !strings.Contains(err.Error(), "was removed") {
		t.Errorf("it ends with %v", err)
	}
}

func TestAKeyThatIsRemovedRunsNoCommand(t *testing.T) {
	p := newExecPool(t)
	ran := false
	p.other.agent.exec = func(context.Context, execcommand.Request) (int, error) { ran = true; return 0, nil }
	bearer := p.leader.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit})
	var s exec.Session
	p.leader.as(bearer, httptest.NewRequest("POST", "/v1/tasks/"+p.task+"/exec", strings.NewReader(`{"command":["cat"]}`))).decode(t, &s)
	p.leader.mustApply(t, raftfsm.Wrap(credential.Delete{ID: "AKIASUBMIT"}))
	if err := p.dial(t.Context(), p.clients, s.ID, s.Token, nil); err == nil || ran {
		t.Errorf("it ends with %v, and the command ran: %t", err, ran)
	}
	if err := p.dial(t.Context(), p.clients, s.ID, strings.Replace(s.Token, "AKIASUBMIT", "", 1), nil); err == nil || ran {
		t.Errorf("with a token that names no key it ends with %v, and the command ran: %t", err, ran)
	}
}

func TestASessionOfAmazonsClientEndsWithItsKey(t *testing.T) {
	p := newExecPool(t)
	p.leader.withKey(t, accesskey.Key{ID: "AKIASUBMIT", Role: accesskey.RoleSubmit})
	began, ended := make(chan struct{}), make(chan struct{})
	p.other.agent.exec = func(ctx context.Context, _ execcommand.Request) (int, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return 0, ctx.Err()
	}
	var answer struct{ Session exec.Session }
	p.executeCommand(t, "AKIASUBMIT", `{"task":"`+p.task+`","command":"sh","interactive":true}`).decode(t, &answer)
	connection, _, err := websocket.Dial(t.Context(), p.clients.URL+exec.ClientPath+answer.Session.ID, &websocket.DialOptions{HTTPClient: p.clients.Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.CloseNow()
	first, _ := json.Marshal(map[string]string{"TokenValue": answer.Session.Token})
	connection.Write(t.Context(), websocket.MessageText, first)
	for sequence, m := range []datachannel.Message{
		{PayloadType: datachannel.HandshakeResponse, Payload: []byte(`{"ProcessedClientActions":[{"ActionType":"SessionType","ActionStatus":1}]}`)},
		{PayloadType: datachannel.Size, Payload: []byte(`{"cols":80,"rows":24}`)},
	} {
		m.Type, m.Sequence, m.Created = datachannel.Input, int64(sequence), time.Now()
		connection.Write(t.Context(), websocket.MessageBinary, m.Append(nil))
	}
	<-began
	p.leader.mustApply(t, raftfsm.Wrap(credential.Delete{ID: "AKIASUBMIT"}))
	<-ended
}

// laggingState is a copy of the state that does not have the last changes yet when it is read first.
type laggingState struct {
	before *raftfsm.View
	now    followerState
	reads  int
}

func (l *laggingState) StaleView() (*raftfsm.View, error) {
	if l.reads++; l.reads <= 2 { // where the host of the session is, and whether the key lives
		return l.before, nil
	}
	return l.now.StaleView()
}

func TestAHostThatDoesNotKnowAKeyYetLooksAgain(t *testing.T) {
	p := newExecPool(t)
	config := p.leader.config
	lagging := &laggingState{before: p.leader.state.View(), now: followerState{p.leader.state, nil}}
	bearer := p.leader.withKey(t, accesskey.Key{ID: "AKIANEW", Role: accesskey.RoleSubmit})
	var s exec.Session
	p.leader.as(bearer, httptest.NewRequest("POST", "/v1/tasks/"+p.task+"/exec", strings.NewReader(`{"command":["cat"]}`))).decode(t, &s)
	config.Local = lagging
	clients := httptest.NewTLSServer(NewHandler(config))
	t.Cleanup(clients.Close)

	if err := p.dial(t.Context(), clients, s.ID, s.Token, nil); err != nil {
		t.Error(err)
	}
}
