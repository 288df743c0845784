package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
)

// live is a host's own state, which follows the log.
type live struct {
	state *raftfsm.State
	err   error
}

func (l live) StaleView() (*raftfsm.View, error) { return l.state.View(), l.err }

func (l live) Changes(after raftfsm.Mark, most int) ([]*raftfsm.Change, <-chan struct{}, error) {
	if l.err != nil {
		return nil, nil, l.err
	}
	return l.state.Changes(after, most)
}

// telling is a host that tells events.
func telling(b *bench) *bench {
	b.config.Stale, b.config.History = live{state: b.state}, live{state: b.state}
	return b
}

// told is one event of a stream.
type told struct{ id, kind, data string }

// stream is what a follower reads.
type stream struct {
	t      testing.TB
	lines  *bufio.Scanner
	latest string // id
}

// next reads the next event; the end of the stream is one without anything.
func (s *stream) next() (e told) {
	s.t.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "id":
			e.id, s.latest = value, value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e
			}
			e = told{}
		default:
			s.t.Errorf("a line of another kind: %q", s.lines.Text())
		}
	}
	return told{}
}

// follow begins to follow at a server.
func follow(t testing.TB, url string, header ...string) *stream {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); response.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("%d %s", response.StatusCode, kind)
	}
	return &stream{t: t, lines: bufio.NewScanner(response.Body)}
}

// served is the host's door; streams that are opened after it are closed before it.
func (b *bench) served(t testing.TB) *httptest.Server {
	server := httptest.NewServer(NewHandler(b.config))
	t.Cleanup(server.Close)
	return server
}

// remembered are the ids and kinds of what a host tells without following.
func (b *bench) remembered(t testing.TB, query string) (ids []string) {
	t.Helper()
	got := b.get("/v1/events?follow=false" + query)
	if got.Code != 200 {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	s := &stream{t: t, lines: bufio.NewScanner(got.Body)}
	for e := s.next(); e.kind != ""; e = s.next() {
		ids = append(ids, e.id+" "+e.kind)
	}
	return ids
}

// The bench begins with 1: the default cluster, 2: a key, 3: a host with four GPUs.
func TestEventsAreToldInTheOrderOfTheLogAndFiltered(t *testing.T) {
	b := telling(newBench(t))
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	b.must(t, "RegisterTaskDefinition", oneGPU)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	host := []string{"3-0 host", "3-1 gpu", "3-2 gpu", "3-3 gpu", "3-4 gpu"}
	for query, want := range map[string][]string{
		"":                          slices.Concat([]string{"1-0 cluster"}, host, []string{"4-0 cluster", "6-0 task"}),
		"&cluster=lab":              {"4-0 cluster"},
		"&type=task,cluster":        {"1-0 cluster", "4-0 cluster", "6-0 task"},
		"&since=3":                  {"4-0 cluster", "6-0 task"},
		"&since=3-3":                {"3-4 gpu", "4-0 cluster", "6-0 task"},
		"&since=3-2&type=gpu":       {"3-3 gpu", "3-4 gpu"},
		"&since=6":                  nil,
		"&cluster=lab&type=host":    nil,
		"&since=0&type=host,%20gpu": host,
	} {
		if got := b.remembered(t, query); !slices.Equal(got, want) {
			t.Errorf("%s: %q", query, got)
		}
	}
}

// Each kind, whole: what Describe... shows and the envelope around it, moments as text.
func TestEventsLookLikeThoseOfECS(t *testing.T) {
	b := telling(ready(t))
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu","tags":[{"key":"k","value":"v"}]}`)
	b.runs(t, firstTask)
	b.must(t, "CreateCluster", `{"clusterName":"lab","tags":[{"key":"k","value":"v"}]}`)
	sick := newHost(hostID, "gpu-1", 4)
	sick.GPUs.Devices[0].Health, sick.GPUs.Devices[0].Problem = gpu.Unhealthy, "Xid 79"
	b.do(t, raftfsm.PutHost{Host: sick})
	b.do(t, raftfsm.LoseHost{ID: hostID, At: epoch})
	for name, at := range map[string]string{
		"event-task": "since=5-0&type=task", "event-cluster": "since=6&type=cluster", "event-instance": "since=7&type=host", "event-gpu": "since=7&type=gpu",
	} {
		got := b.get("/v1/events?follow=false&" + at)
		s := &stream{t: t, lines: bufio.NewScanner(got.Body)}
		e := s.next()
		reply{&httptest.ResponseRecorder{Body: bytes.NewBufferString(e.data)}}.golden(t, name)
	}
}

func TestAStreamThatBreaksOffIsResumedAnywhere(t *testing.T) {
	one := telling(newBench(t))
	two := telling(newBench(t)) // its state is made by the same commands
	servers := [2]*httptest.Server{}
	for i, b := range []*bench{one, two} {
		servers[i] = b.served(t)
	}
	both := func(command raftfsm.Command) { one.do(t, command); two.do(t, command) }
	first := follow(t, servers[0].URL+"/v1/events")
	both(raftfsm.CreateCluster{Cluster: raftfsm.Cluster{Name: "a"}})
	if e := first.next(); e.id != "4-0" || !strings.Contains(e.data, `"clusterName":"a"`) {
		t.Errorf("%+v", e)
	}
	both(raftfsm.CreateCluster{Cluster: raftfsm.Cluster{Name: "b"}})
	second := follow(t, servers[1].URL+"/v1/events?type=cluster", "Last-Event-ID", first.latest)
	here, there := first.next(), second.next()
	if here != there || here.id != "5-0" {
		t.Errorf("%+v and %+v", here, there)
	}
}

func TestAHostThatLagsBehindIsWaitedFor(t *testing.T) {
	b := telling(newBench(t))
	server := b.served(t)
	resumed := make(chan told)
	go func() {
		s := follow(t, server.URL+"/v1/events?since=4-0")
		resumed <- s.next()
	}()
	b.do(t, raftfsm.CreateCluster{Cluster: raftfsm.Cluster{Name: "a"}})
	b.do(t, raftfsm.CreateCluster{Cluster: raftfsm.Cluster{Name: "b"}})
	if e := <-resumed; e.id != "5-0" {
		t.Errorf("%+v", e)
	}
}

func TestWhatCannotBeToldIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := telling(newBench(t))
		b.get("/v1/events?type=tasks").wantError(t, 400, invalid, `type must be of task, host, cluster and gpu, with commas between, not "tasks".`)
		b.get("/v1/events?follow=x").wantError(t, 400, invalid, `follow must be true or false, not "x".`)
		for _, since := range []string{"now", "-1", "1-2-3-4", "1-x", "1-"} {
			b.get("/v1/events?since="+since).wantError(t, 400, invalid, fmt.Sprintf("since must be the id of an event such as 1234-0, or an index such as 1234, not %q.", since))
		}
		b.get("/v1/events?since=99").wantError(t, 500, "ServerException", "This host has seen changes up to index 3, and not 99: it lags behind, or there never was such an event. Try again, or ask another host.")
		b.get("/v1/events?since=2-0-7").wantError(t, 410, gone, "Event 2-0-7 is from before the pool was recovered, and what it knew last may not hold any more: list what there is again, and go on from now.")

		var snapshot bytes.Buffer
		if err := b.state.View().WriteSnapshot(&snapshot); err != nil {
			t.Fatal(err)
		}
		if err := b.state.Restore(&snapshot); err != nil {
			t.Fatal(err)
		}
		b.get("/v1/events?since=2-0").wantError(t, 410, gone, "What was changed then is not remembered any more, only what came after 3: list what there is again, and go on from now.")
		if got := b.remembered(t, ""); len(got) != 0 {
			t.Errorf("what is remembered needs no since: %q", got)
		}
		b.config.History = nil
		b.get("/v1/events").wantError(t, 400, "ClientException", "pinion: events are not supported here: this host keeps no record of changes")
	})
}

func TestAKeyForOneClusterHearsOfThatOneAlone(t *testing.T) {
	b := telling(newBench(t))
	b.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	for path, want := range map[string]string{
		"/v1/events?follow=false":                 "event: cluster\ndata: ",
		"/v1/events?follow=false&cluster=default": accessDenied,
	} {
		got := b.as(t, raftfsm.RoleRead, "lab", httptest.NewRequest("GET", path, nil)).Body.String()
		if !strings.Contains(got, want) || strings.Contains(got, "gpu-1") {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// end reads the last event and that nothing comes after it.
func (s *stream) end() string {
	s.t.Helper()
	e := s.next()
	if after := s.next(); e.kind != endEvent || after != (told{}) {
		s.t.Errorf("%+v and then %+v", e, after)
	}
	return e.data
}

func TestAStreamSaysWhyItEnds(t *testing.T) {
	b := telling(newBench(t))
	b.config.Trusted = false
	server := b.served(t)
	t.Run("its key was removed", func(t *testing.T) {
		s := follow(t, server.URL+"/v1/events", "Authorization", bearerKey)
		key := b.state.View().Key(keyID)
		b.do(t, raftfsm.RemoveKey{ID: keyID})
		b.do(t, raftfsm.CreateCluster{Cluster: raftfsm.Cluster{Name: "a"}})
		if got, want := s.end(), `{"__type":"UnrecognizedClientException","message":"The access key `+keyID+` was removed."}`; got != want {
			t.Error(got)
		}
		b.do(t, raftfsm.CreateKey{Key: *key})
	})
	t.Run("what came next is forgotten", func(t *testing.T) {
		s := follow(t, server.URL+"/v1/events", "Authorization", bearerKey)
		other := newCluster(t)
		other.do(t, raftfsm.CreateCluster{Cluster: raftfsm.Cluster{Name: "a"}})
		for range 9 {
			other.do(t, raftfsm.SetTags{Kind: raftfsm.TaggedCluster, ID: "a", Put: []raftfsm.Tag{{Key: "n", Value: fmt.Sprint(other.index)}}})
		}
		var snapshot bytes.Buffer
		if err := errors.Join(other.state.View().WriteSnapshot(&snapshot), b.state.Restore(&snapshot)); err != nil {
			t.Fatal(err)
		}
		if got := s.end(); !strings.Contains(got, gone) {
			t.Error(got)
		}
	})
}

func TestAStreamThatIsSilentSaysThatItLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := telling(newBench(t))
		closing := make(chan struct{})
		w := httptest.NewRecorder()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			newHandler(b.config, closing).ServeHTTP(w, httptest.NewRequest("GET", "/v1/events", nil))
		}()
		time.Sleep(2*beat + time.Second)
		close(closing)
		<-ended
		const here = "id: 3-2147483647\n\n"
		want := here + here + here + "event: end\ndata: " + `{"__type":"ServerException","message":"This host stops. Go on at another one, after the last event."}` + "\n\n"
		if got := w.Body.String(); got != want {
			t.Errorf("%q", got)
		}
	})
}

// stuck is a client that has stopped reading.
type stuck struct{ http.ResponseWriter }

func (stuck) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	b := telling(newBench(t))
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("the connection was not cut")
		}
		if _, free := b.config.Guard.followers.take(); !free || b.config.Guard.followers.taken.Load() != 1 {
			t.Error("its place was not given back")
		}
	}()
	b.config.Guard = NewGuard()
	NewHandler(b.config).ServeHTTP(stuck{httptest.NewRecorder()}, httptest.NewRequest("GET", "/v1/events", nil))
}

func TestFollowersHaveOneEncodingTogether(t *testing.T) {
	b := newBench(t)
	changes, _, err := b.state.Changes(raftfsm.Mark{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	var shared frames
	of := func(region string) []byte {
		text, err := shared.of(changes[0], b.state.View(), region)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if one, two := of("us-east-1"), of("us-east-1"); &one[0] != &two[0] {
		t.Error("it was encoded twice")
	}
	if !bytes.Contains(of("eu-west-1"), []byte("arn:aws:ecs:eu-west-1:")) {
		t.Error("the region is another one's")
	}
}

// An agent has no state: the leader tells, through it.
func TestAnAgentPassesEventsOn(t *testing.T) {
	p := newPool(t)
	telling(p.leader)
	agent := live{err: raftfsm.ErrUnavailable, state: p.away.state}
	p.away.config.Stale, p.away.config.History = agent, agent
	c := p.away.config
	c.Now, c.Leader, c.Forward = time.Now, always(p.peer.Listener.Addr().String()), p.peer.Client().Transport
	front := p.leader.config
	front.FromPeer = true
	p.peer.Config.Handler = NewHandler(front)
	server := httptest.NewServer(NewHandler(c))
	t.Cleanup(server.Close)
	s := follow(t, server.URL+"/v1/events")
	p.leader.do(t, raftfsm.CreateCluster{Cluster: raftfsm.Cluster{Name: "lab"}})
	if e := s.next(); e.id != "4-0" || e.kind != "cluster" {
		t.Errorf("%+v", e)
	}
}
