package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/api/httpx"
	"pinion/raftfsm"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

func TestAStreamThatBreaksOffIsResumedAnywhere(t *testing.T) {
	one := withEvents(newFixture(t))
	two := withEvents(newFixture(t)) // its state is made by the same commands
	servers := [2]*httptest.Server{}
	for i, b := range []*fixture{one, two} {
		servers[i] = b.served(t)
	}
	both := func(command raftfsm.Command) { one.mustApply(t, command); two.mustApply(t, command) }
	first := openStream(t, servers[0].URL+"/v1/events")
	both(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "a"}})
	if e := first.next(); e.id != "4-0" || !strings.Contains(e.data, `"clusterName":"a"`) {
		t.Errorf("%+v", e)
	}
	both(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "b"}})
	second := openStream(t, servers[1].URL+"/v1/events?type=cluster", "Last-Event-ID", first.latest)
	here, there := first.next(), second.next()
	if here != there || here.id != "5-0" {
		t.Errorf("%+v and %+v", here, there)
	}
}

func TestResumingWaitsForAHostThatLagsBehind(t *testing.T) {
	b := withEvents(newFixture(t))
	server := b.served(t)
	resumed := make(chan sseEvent, 1)
	go func() {
		defer close(resumed)
		s := openStream(t, server.URL+"/v1/events?since=4-0")
		resumed <- s.next()
	}()
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "a"}})
	b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "b"}})
	if e := <-resumed; e.id != "5-0" {
		t.Errorf("%+v", e)
	}
}

func TestAStreamSaysWhyItEnds(t *testing.T) {
	b := withEvents(newFixture(t))
	b.config.Trusted = false
	server := b.served(t)
	t.Run("its key was removed", func(t *testing.T) {
		s := openStream(t, server.URL+"/v1/events", "Authorization", bearerKey)
		key := b.state.View().AccessKey(keyID)
		b.mustApply(t, raftfsm.Wrap(credential.Delete{ID: keyID}))
		b.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "a"}})
		if got := s.end(); !strings.Contains(got, `"__type":"UnrecognizedClientException"`) || !strings.Contains(got, keyID) {
			t.Error(got)
		}
		b.mustApply(t, raftfsm.Wrap(credential.Create{Key: *key}))
	})
	t.Run("the changelog is compacted", func(t *testing.T) {
		s := openStream(t, server.URL+"/v1/events", "Authorization", bearerKey)
		other := newFakeStore(t)
		other.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "a"}})
		for range 9 {
			other.mustApply(t, raftfsm.SetTags{Kind: spec.ResourceCluster, ID: "a", Put: []spec.Tag{{Key: "n", Value: fmt.Sprint(other.index)}}})
		}
		var snapshot bytes.Buffer
		if err := errors.Join(other.state.View().WriteSnapshot(&snapshot), b.state.Restore(&snapshot)); err != nil {
			t.Fatal(err)
		}
		if got := s.end(); !strings.Contains(got, httpx.Gone) {
			t.Error(got)
		}
	})
}

func TestASilentStreamSendsHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := withEvents(newFixture(t))
		closing := make(chan struct{})
		w := httptest.NewRecorder()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			newHandler(b.config, closing).ServeHTTP(w, httptest.NewRequest("GET", "/v1/events", nil))
		}()
		time.Sleep(31 * time.Second)
		close(closing)
		<-ended
		frames := strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n")
		heartbeats, last := frames[:len(frames)-1], frames[len(frames)-1]
		afterTheThirdEntry := "id: 3-" + strconv.Itoa(raftfsm.PositionAfter(3).Offset)
		if want := []string{afterTheThirdEntry, afterTheThirdEntry, afterTheThirdEntry}; !slices.Equal(heartbeats, want) {
			t.Errorf("at the start and every 15 s: %q", heartbeats)
		}
		if !strings.HasPrefix(last, "event: end\ndata: ") || !strings.Contains(last, `"__type":"ServerException"`) {
			t.Errorf("when the host stops: %q", last)
		}
	})
}

// Events of a whole pool are collected, so that changes that come together are written together; those of one task are not.
func TestAStreamOfOneTaskHasEachChangeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := withEvents(ready(t))
		b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
		closing := make(chan struct{})
		waits := map[string]time.Duration{}
		for _, query := range []string{"type=task", "task=" + firstTask} {
			at := strconv.FormatUint(b.state.View().Index(), 10)
			pr, pw := io.Pipe()
			go func() {
				defer pw.Close()
				newHandler(b.config, closing).ServeHTTP(pipeResponse{httptest.NewRecorder(), pw}, httptest.NewRequest("GET", "/v1/events?since="+at+"&"+query, nil))
			}()
			s := &sseStream{t: t, lines: bufio.NewScanner(pr)}
			s.lines.Buffer(nil, 1<<20)
			b.must(t, "TagResource", `{"resourceArn":"`+resourceARN("task/default/"+firstTask)+`","tags":[{"key":"k","value":"v"}]}`)
			s.next()
			began := time.Now()
			b.must(t, "UntagResource", `{"resourceArn":"`+resourceARN("task/default/"+firstTask)+`","tagKeys":["k"]}`)
			s.next()
			waits[query] = time.Since(began)
			go io.Copy(io.Discard, pr)
		}
		close(closing)
		if waits["task="+firstTask] != 0 || waits["type=task"] == 0 {
			t.Errorf("%v", waits)
		}
	})
}

// pipeResponse is a response that is read while it is written.
type pipeResponse struct {
	*httptest.ResponseRecorder
	w io.Writer
}

func (p pipeResponse) Write(text []byte) (int, error) { return p.w.Write(text) }

// stalledWriter is a client that has stopped reading.
type stalledWriter struct{ http.ResponseWriter }

func (stalledWriter) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestAClientThatDoesNotReadIsDisconnected(t *testing.T) {
	b := withEvents(newFixture(t))
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("the connection was not cut")
		}
		if _, free := b.config.Shared.events.Streams.TryAcquire("another holder"); !free {
			t.Error("its slot was not released")
		}
	}()
	b.config.Shared = NewShared()
	b.config.Shared.events.Streams.Size = 1
	NewHandler(b.config).ServeHTTP(stalledWriter{httptest.NewRecorder()}, httptest.NewRequest("GET", "/v1/events", nil))
}

// An agent has no state: the leader tells, through it.
func TestAnAgentForwardsEvents(t *testing.T) {
	p := newTwoHosts(t)
	withEvents(p.leader)
	agent := followerState{err: spec.ErrUnavailable, state: p.other.state}
	p.other.config.Local, p.other.config.History = agent, agent
	c := p.other.config
	c.Now, c.Leader, c.Forward = time.Now, remoteLeads(p.peer.Listener.Addr().String()), p.peer.Client().Transport
	front := p.leader.config
	front.FromPeer = sentBy(followerID, true)
	p.peer.Config.Handler = NewHandler(front)
	server := httptest.NewServer(NewHandler(c))
	t.Cleanup(server.Close)
	s := openStream(t, server.URL+"/v1/events")
	p.leader.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab"}})
	if e := s.next(); e.id != "4-0" || e.kind != "cluster" {
		t.Errorf("%+v", e)
	}
}
