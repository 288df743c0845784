package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// twins are a leader and a server that does not lead, each with a state of its own. The states are equal at first.
type twins struct {
	leader, other *bench
	way           *hops
	states        []string // that the leader was told of with each request
}

func newTwins(t testing.TB) *twins {
	p := &twins{leader: newBench(t), way: &hops{}}
	door := peerOf(p.leader, itself)
	p.way.to = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.states = append(p.states, r.Header.Get(stateHeader))
		door.ServeHTTP(w, r)
	})
	p.other = changing(t, p.way, always("gpu-1:7400"))
	p.other.config.HostID, p.other.config.Stale = followerID, live{state: p.other.state}
	p.other.unreachable = errElection
	p.other.silent[hostID] = true // only the leader knows who is connected
	return p
}

// both record a command in both states.
func (p *twins) both(t testing.TB, command raftfsm.Command) {
	t.Helper()
	p.leader.do(t, command)
	p.other.do(t, command)
}

// marked makes one cluster in each state, at the same index, whose names tell who answers.
func (p *twins) marked(t testing.TB) *twins {
	t.Helper()
	p.leader.do(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "of-the-leader"}})
	p.other.do(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "of-the-other"}})
	return p
}

// wantAnswerOf checks from whose state the clusters were listed.
func (r reply) wantAnswerOf(t testing.TB, who string) {
	t.Helper()
	if r.Code != 200 || !strings.Contains(r.Body.String(), "cluster/of-the-"+who) || r.Header().Get("X-Pinion-Stale") != "" || r.Header().Get(sameHeader) != "" {
		t.Errorf("not the answer of the %s: %d %v %s", who, r.Code, r.Header(), r.Body)
	}
}

func TestAServerWithTheStateOfTheLeaderAnswersReadsItself(t *testing.T) {
	p := newTwins(t).marked(t)
	p.other.aws("ListClusters", "{}").wantAnswerOf(t, "other")
	p.other.plain("ListClusters", "{}").wantAnswerOf(t, "other")
	p.other.config.Trusted = false
	p.other.serve(signed(t, "ListClusters", "{}", epoch)).wantAnswerOf(t, "other")
	if p.way.count != 3 {
		t.Errorf("the leader was asked %d times for three answers", p.way.count)
	}
}

func TestAnyOtherStateIsTheLeadersToAnswerFrom(t *testing.T) {
	more := raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "more"}}
	for name, differ := range map[string]func(p *twins){
		"an older one":  func(p *twins) { p.leader.do(t, more) },
		"a younger one": func(p *twins) { p.other.do(t, more) },
		"a recovered one": func(p *twins) { // the same index in two incarnations
			p.leader.do(t, raftfsm.PutSettings{Settings: spec.Settings{Incarnation: 2}})
			p.other.do(t, more)
		},
		"none":            func(p *twins) { p.other.config.Stale = live{p.other.state, spec.ErrUnavailable} },
		"none, and never": func(p *twins) { p.other.config.Stale = nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := newTwins(t).marked(t)
			differ(p)
			p.other.aws("ListClusters", "{}").wantAnswerOf(t, "leader")
		})
	}
}

// A change that comes while the leader is asked may be one that the leader has not seen: whoever asked it next would see it
// gone again.
func TestTheAnswerIsFromTheStateThatWasCompared(t *testing.T) {
	p := newTwins(t).marked(t)
	door := p.way.to
	p.way.to = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		door.ServeHTTP(w, r)
		p.other.do(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "too-new"}})
	})
	got := p.other.aws("ListClusters", "{}")
	got.wantAnswerOf(t, "other")
	if strings.Contains(got.Body.String(), "too-new") {
		t.Errorf("%s", got.Body)
	}
}

// A server that lags behind does not know the newest keys, so it refuses nobody.
func TestWhoIsUnknownHereIsAskedOfTheLeader(t *testing.T) {
	p := newTwins(t)
	p.other.config.Trusted = false
	const newKey = "AKIANEW0000000000000"
	p.leader.do(t, raftfsm.CreateAccessKey{Key: spec.AccessKey{ID: newKey, Secret: secret, Role: spec.RoleRead, CreatedAt: epoch}})
	p.other.do(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "of-the-other"}})
	list := func(credential string) reply {
		r := httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"))
		r.Header.Set("Authorization", bearerScheme+credential)
		return p.other.serve(r)
	}
	if got := list(newKey + ":" + secret); got.Code != 200 || strings.Contains(got.Body.String(), "of-the-other") {
		t.Errorf("a key that is new: %d %s", got.Code, got.Body)
	}
	if got := list(keyID + ":wrong"); got.Header().Get("X-Amzn-ErrorType") != "UnrecognizedClientException" {
		t.Errorf("a wrong secret: %d %s", got.Code, got.Body)
	}
	if p.states[0] != "" || p.states[1] != "" {
		t.Errorf("it offered to answer people whom it does not know: %q", p.states)
	}
}

func TestAKeyMayNotDoMoreAtAServerThatAnswersItself(t *testing.T) {
	p := newTwins(t)
	p.other.config.Trusted = false
	const bound = "AKIABOUND00000000000"
	p.both(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab"}})
	p.both(t, raftfsm.CreateAccessKey{Key: spec.AccessKey{ID: bound, Secret: secret, Role: spec.RoleRead, Cluster: "lab", CreatedAt: epoch}})
	for cluster, status := range map[string]int{"lab": 200, "default": 403} {
		r := httptest.NewRequest("POST", "/v1/ListTasks", strings.NewReader(`{"cluster":"`+cluster+`"}`))
		r.Header.Set("Authorization", bearerScheme+bound+":"+secret)
		if got := p.other.serve(r); got.Code != status {
			t.Errorf("tasks of %s: %d %s", cluster, got.Code, got.Body)
		}
	}
}

func TestChangesAreTheLeadersAlways(t *testing.T) {
	p := newTwins(t)
	for _, operation := range []string{"CreateCluster", "RunTask", "NoSuchThing"} {
		before := len(p.states)
		p.other.aws(operation, "{}")
		if len(p.states) != before+1 || p.states[before] != "" {
			t.Errorf("%s: the leader was told %q", operation, p.states[before:])
		}
	}
	p.other.plain("CreateCluster", `{"clusterName":"lab"}`)
	if p.leader.state.View().Cluster("lab") == nil || p.other.state.View().Cluster("lab") != nil {
		t.Error("the cluster was not made by the leader alone")
	}
}

// Only hosts can say which state they have; to everybody else the leader gives the answer itself.
func TestNobodyElseIsToldThatTheStateIsTheSame(t *testing.T) {
	p := newTwins(t).marked(t)
	r := awsRequest("ListClusters", "{}")
	r.Header.Set(stateHeader, stateOf(p.leader.state.View()))
	p.leader.serve(r).wantAnswerOf(t, "leader")
}

// A pool that is being updated has leaders that know nothing of this; they answer as they always did.
func TestALeaderThatReadsNoStateHeaderAnswers(t *testing.T) {
	p := newTwins(t).marked(t)
	door := p.way.to
	p.way.to = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del(stateHeader)
		door.ServeHTTP(w, r)
	})
	p.other.aws("ListClusters", "{}").wantAnswerOf(t, "leader")
}

func TestAReadIsTriedAgainUntilALeaderAnswers(t *testing.T) {
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(sameHeader, "true")
		_, _ = io.WriteString(w, `{"silent":["aaa`)
	}
	deposed := func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(forwardedHeader, followerID)
		peerOf(newBench(t), nobody).ServeHTTP(w, r)
	}
	for name, first := range map[string]http.HandlerFunc{"a word that breaks off": broken, "a leader that was deposed": deposed} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newTwins(t).marked(t)
				door := p.way.to
				p.way.to = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if p.way.count == 1 {
						first(w, r)
						return
					}
					door.ServeHTTP(w, r)
				})
				p.other.aws("ListClusters", "{}").wantAnswerOf(t, "other")
				if p.way.count != 2 {
					t.Errorf("%d tries", p.way.count)
				}
			})
		})
	}
}

// Having the state is not enough: without a leader nobody knows whether it is the newest.
func TestAStateWithoutALeaderAnswersNothing(t *testing.T) {
	p := newTwins(t)
	p.other.config.Leader = leads(nobody)
	p.other.aws("ListClusters", "{}").wantError(t, 500, "ServerException", noLeader)
	p.other.config.Leader = always("gone:7400")
	p.way.fail = func(int) error { return errDial }
	synctest.Test(t, func(t *testing.T) {
		p.other.aws("ListClusters", "{}").wantError(t, 500, "ServerException", "The leader of the pool at gone:7400 cannot be reached: dial tcp: connection refused. Nothing was done; try again.")
	})
}

// As from the leader: one id, a length, and gzip for those who read it.
func TestTheAnswerOfAServerLooksLikeTheLeaders(t *testing.T) {
	p := newPool(t)
	c := p.away.config
	c.Trusted, c.Now, c.Leader, c.Forward = false, time.Now, always(p.peer.Listener.Addr().String()), p.peer.Client().Transport
	c.Stale = live{state: p.away.state}
	server := httptest.NewServer(NewHandler(c))
	defer server.Close()
	question := p.leader.describing(t, 100)
	p.away.describing(t, 100)
	p.leader.silent[hostID] = true
	ask := func(url string) reply {
		got := send(t, "POST", url+"/v1/DescribeTasks", question, "Authorization", bearerKey, "Accept-Encoding", "gzip")
		if got.Code != 200 || got.Header().Get("Content-Encoding") != "gzip" || got.Header().Get("Content-Length") == "" ||
			len(got.Header().Values(requestIDHeader)) != 1 || got.Header().Get(sameHeader) != "" {
			t.Errorf("%d %v", got.Code, got.Header())
		}
		return got
	}
	if byItself, byTheLeader := ask(server.URL), ask(p.follower.URL); byItself.Body.String() != byTheLeader.Body.String() {
		t.Error("the server's answer is not the leader's")
	}
}

// Whatever happens in whichever order, nobody can tell from an answer which of the two gave it.
func TestAnswersAreTheLeadersWhateverTheServerHas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := newTwins(t)
		leader, other := NewHandler(p.leader.config), NewHandler(p.other.config)
		ask := func(handler http.Handler) string {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, awsRequest("DescribeClusters", `{"clusters":["lab","prod"]}`))
			return w.Body.String()
		}
		var log []raftfsm.Command // what the other server has not heard of yet
		r.Repeat(map[string]func(*rapid.T){
			"change": func(r *rapid.T) {
				name := rapid.SampledFrom([]string{"lab", "prod"}).Draw(r, "cluster")
				change := rapid.SampledFrom([]raftfsm.Command{
					raftfsm.CreateCluster{Cluster: spec.Cluster{Name: name}}, raftfsm.DeleteCluster{Name: name},
				}).Draw(r, "change")
				_, _ = p.leader.Propose(t.Context(), change) // what is refused is an entry that changes nothing
				log = append(log, change)
			},
			"catch up": func(*rapid.T) {
				for _, change := range log {
					_, _ = p.other.Propose(t.Context(), change)
				}
				log = nil
			},
			"": func(r *rapid.T) {
				if got, want := ask(other), ask(leader); got != want {
					r.Fatalf("%d changes behind, the server says %s\nand the leader %s", len(log), got, want)
				}
			},
		})
	})
}
