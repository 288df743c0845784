package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/ecs"
	"pinion/api/httpx"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// send makes a request by hand.
func send(t testing.TB, method, url, body string, header ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return exchange(t, http.DefaultClient, r)
}

// exchange sends a request and reads the whole response.
func exchange(t testing.TB, client *http.Client, r *http.Request) reply {
	t.Helper()
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	w := httptest.NewRecorder()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(response.StatusCode)
	if _, err := io.Copy(w, response.Body); err != nil {
		t.Fatal(err)
	}
	return reply{w}
}

const bearerKey = "Bearer " + keyID + ":" + secret

func TestTheLeaderTrustsARequestFromTheSocketOfAHost(t *testing.T) {
	p := newTwoHosts(t)
	if got := send(t, "POST", p.socket.URL+"/v1/CreateCluster", `{"clusterName":"lab"}`); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if p.leader.state.View().Cluster("lab") == nil {
		t.Error("the leader does not know the cluster")
	}
	if got := send(t, "GET", p.socket.URL+"/v1/hosts", ""); got.Code != 200 || !strings.Contains(got.Body.String(), `"role":"leader"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := send(t, "POST", p.socket.URL+"/v1/ListClusters", "{}", "Authorization", "Bearer "+keyID+":wrong"); got.Code != 400 {
		t.Errorf("a key that is there must be right: %d %s", got.Code, got.Body)
	}
}

// Only hosts are believed that a request is trusted; from any other client the header is removed.
func TestOnlyHostsAreBelievedThatARequestIsTrusted(t *testing.T) {
	p := newTwoHosts(t)
	for _, url := range []string{p.follower.URL, p.follower.URL + "/api"} {
		for _, header := range []string{httpx.HeaderSocket, httpx.HeaderForwarded, httpx.HeaderAuthorizedBy} {
			got := send(t, "GET", url+"/v1/hosts", "", header, "true")
			if got.Code == 200 {
				t.Errorf("%s %s: %d %s", url, header, got.Code, got.Body)
			}
		}
	}
	if got := send(t, "GET", p.follower.URL+logPath, "", httpx.HeaderAuthorizedBy, hostID); got.Header().Get("X-Amzn-ErrorType") != "MissingAuthenticationTokenException" {
		t.Errorf("logs without a key: %d %s", got.Code, got.Body)
	}
}

func TestWarningsErrorsAndRequestIDsComeBackAsTheLeaderSaidThem(t *testing.T) {
	p := newTwoHosts(t)
	got := send(t, "POST", p.follower.URL+"/v1/RunTask", `{"taskDefinition":"nope"}`, "Authorization", bearerKey)
	got.wantError(t, 400, "ClientException", "TaskDefinition not found.")
	if len(got.Header().Values("x-amzn-RequestId")) != 1 {
		t.Errorf("%v", got.Header())
	}
}

// The log of a task on the follower, asked for at the follower: the leader checks the key, the follower's agent reads.
func TestALogIsReadWhereTheTaskRuns(t *testing.T) {
	p := newTwoHosts(t)
	p.leader.mustApply(t, registerCommand(t))
	other := newHost(followerID, "gpu-2", 4)
	other.Address = p.otherPeer.Listener.Addr().String()
	p.leader.mustApply(t, raftfsm.PutHost{Host: other})
	p.leader.state.View()
	run := send(t, "POST", p.follower.URL+"/v1/StartTask", `{"taskDefinition":"f","containerInstances":["`+followerID+`"]}`, "Authorization", bearerKey)
	if run.Code != 200 {
		t.Fatalf("%d %s", run.Code, run.Body)
	}
	next := make(chan string)
	var asked spec.LogQuery
	p.other.agent.logs = func(_ context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
		asked = q
		for text := range next {
			if err := emit(line(text)); err != nil {
				return err
			}
		}
		return nil
	}
	p.other.agent.pulls = func(string) []spec.Pull { return []spec.Pull{{Image: "i", Done: 1, Total: 2}} }
	path := p.follower.URL + "/v1/tasks/" + firstTask
	if got := send(t, "GET", path+"/pulls", "", "Authorization", bearerKey).Body.String(); got != `[{"image":"i","done":1,"total":2}]` {
		t.Errorf("pulls: %s", got)
	}
	send(t, "GET", path+"/logs?tail=-1", "", "Authorization", bearerKey).wantError(t, 400, invalid, `tail must be a number of lines from 1, not "-1".`)
	send(t, "GET", path+"/logs?container=x", "", "Authorization", bearerKey).wantError(t, 400, invalid, "Task "+firstTask+` has no container "x"; it has c.`)

	r, _ := http.NewRequestWithContext(t.Context(), "GET", path+"/logs?follow=1&container=c", nil)
	r.Header.Set("Authorization", bearerKey)
	r.Header.Set("Accept", "text/plain")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for _, text := range []string{"one", "two"} {
		next <- text
		if got, err := lines.ReadString('\n'); got != text+"\n" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	close(next)
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Errorf("the end of the log: %v", err)
	}
	if want := (spec.LogQuery{Task: firstTask, Container: "c", Follow: true}); asked != want {
		t.Errorf("the agent was asked %+v", asked)
	}
}

func TestALogOnAHostThatIsAwayIsAnErrorToTryAgain(t *testing.T) {
	b := newLogFixture(t, nil)
	b.config.HostID, b.config.Forward = followerID, &fakeTransport{failBefore: func(int) error { return errDial }}
	b.get(logPath).wantError(t, 500, "ServerException", "Task "+firstTask+" is on host gpu-1, which cannot be reached at gpu-1:7400: dial tcp: connection refused. Its logs are there; try again when it is back.")
}

var errDial = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// newFollowerFixture is a follower in memory: leaders answer one after the other, the last for good.
func newFollowerFixture(t testing.TB, way *fakeTransport, leaders ...fakeLeadership) *fixture {
	b := newFixture(t)
	turn := 0
	b.config.Forward = way
	b.config.Leader = fakeLeadership(func(ctx context.Context) (string, bool, error) {
		now := leaders[min(turn, len(leaders)-1)]
		turn++
		return now(ctx)
	})
	return b
}

// peerHandler is the handler of a host for other hosts.
func peerHandler(b *fixture, leader fakeLeadership) http.Handler {
	c := b.config
	c.FromPeer, c.Trusted, c.Leader, c.Forward = sentBy(followerID, true), false, leader, nil
	return NewHandler(c)
}

func TestWithoutALeaderEveryEndpointAnswers500(t *testing.T) {
	b := newFollowerFixture(t, &fakeTransport{}, noLeaderNow)
	b.aws("RunTask", `{"taskDefinition":"nope"}`).wantError(t, 500, "ServerException", errElection.Error())
	b.rest("ListClusters", `{"unknown":1}`).wantError(t, 500, "ServerException", noLeader)
	for _, path := range []string{"/v1/hosts", "/v1/gpus", "/v1/tasks/nope/logs", "/v1/tasks/nope/pulls", "/v1/admin/tokens"} {
		b.get(path).wantError(t, 500, "ServerException", noLeader)
	}
	if got := b.get("/healthz"); got.Code != 503 {
		t.Errorf("healthz: %d %s", got.Code, got.Body)
	}
}

// The host that was leader a moment ago does not pass the request on: it would go round in circles.
func TestASecondHopIsRefused(t *testing.T) {
	deposed := newFixture(t)
	for _, leader := range []fakeLeadership{remoteLeads("gpu-3:7400"), noLeaderNow} {
		r, w := httptest.NewRequest("POST", "/api/v1/ListClusters", strings.NewReader("{}")), httptest.NewRecorder()
		r.Header.Set(httpx.HeaderForwarded, followerID)
		r.Header.Set(httpx.HeaderSocket, "true")
		peerHandler(deposed, leader).ServeHTTP(w, r)
		reply{w}.wantError(t, 500, "ServerException", "Nothing was done: the request was forwarded to this host, which does not lead the pool now. Try again.")
	}
}

func TestTheFirstHostWaitsForTheNewLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := newFixture(t)
		old, way := peerHandler(leader, remoteLeads("elsewhere:1")), &fakeTransport{handler: peerHandler(leader, selfLeads)}
		ways := &fakeTransport{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Host == "old:7400" {
				old.ServeHTTP(w, r)
				return
			}
			way.handler.ServeHTTP(w, r)
		}), failBefore: func(n int) error {
			if n == 2 {
				return errDial // the old leader's port is closed by now
			}
			return nil
		}}
		b := newFollowerFixture(t, ways, remoteLeads("old:7400"), remoteLeads("old:7400"), remoteLeads("new:7400"))
		if got := b.rest("CreateCluster", `{"clusterName":"lab"}`); got.Code != 200 || ways.count != 3 {
			t.Errorf("after %d hops: %d %s", ways.count, got.Code, got.Body)
		}
	})
}

func TestItWaitsFiveSecondsAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		b := newFollowerFixture(t, &fakeTransport{failBefore: func(int) error { return errDial }}, remoteLeads("gone:7400"))
		b.aws("RunTask", "{}").wantError(t, 500, "ServerException", "The leader of the pool at gone:7400 cannot be reached: dial tcp: connection refused. Nothing was done; try again.")
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// A request that the leader may have carried out is not sent twice; one that changes nothing is.
func TestOnlyAReadIsSentTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := newFixture(t)
		broken := func(n int) error {
			if n == 1 {
				return io.ErrUnexpectedEOF
			}
			return nil
		}
		way := &fakeTransport{handler: peerHandler(leader, selfLeads), failBefore: broken}
		if got := newFollowerFixture(t, way, remoteLeads("gpu-1:7400")).rest("ListClusters", "{}"); got.Code != 200 || way.count != 2 {
			t.Errorf("after %d hops: %d %s", way.count, got.Code, got.Body)
		}
		way = &fakeTransport{handler: peerHandler(leader, selfLeads), failBefore: broken}
		got := newFollowerFixture(t, way, remoteLeads("gpu-1:7400")).aws("RunTask", "{}")
		got.wantError(t, 500, "ServerException", "The leader of the pool at gpu-1:7400 was asked and gave no answer: unexpected EOF. It may have been done or not: look before you repeat it, or repeat it with the same client token.")
		if way.count != 1 {
			t.Errorf("RunTask was sent %d times", way.count)
		}
		way.count = 0
		run := httptest.NewRequest("POST", "/v1/RunTask", strings.NewReader("{}"))
		run.Header.Set("X-Amz-Target", ecs.Target+".ListTasks") // which means nothing on this path
		if newFollowerFixture(t, way, remoteLeads("gpu-1:7400")).serve(run); way.count != 1 {
			t.Errorf("RunTask was sent %d times", way.count)
		}
	})
}

func TestALeaderThatDoesNotRespondIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t)
		b.config.Leader, b.config.Forward = remoteLeads("stopped:7400"), unresponsiveTransport{}
		got := b.aws("RunTask", "{}")
		if got.Code != 500 || !strings.Contains(got.Body.String(), "nothing came for 10s") {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	})
}

// unresponsiveTransport never answers.
type unresponsiveTransport struct{}

func (unresponsiveTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A leader that is deposed between the question who leads and the look at its state has done nothing yet.
func TestALeaderThatWasDeposedJustNowForwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := newFixture(t)
		way := &fakeTransport{handler: peerHandler(next, selfLeads)}
		b := newFollowerFixture(t, way, selfLeads, remoteLeads("new:7400"))
		b.fakeStore.viewErr = errElection
		if got := b.get("/v1/hosts"); got.Code != 200 || way.count != 1 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	})
}
