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

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/spec"
)

// leaderAndFollower are a leader and a server that does not lead, each with a state of its own. The states are equal at first.
type leaderAndFollower struct {
	leader, follower *fixture
	transport        *fakeTransport
	sentVersions     []string // in the header of each request to the leader
}

func newLeaderAndFollower(t testing.TB) *leaderAndFollower {
	p := &leaderAndFollower{leader: newFixture(t), transport: &fakeTransport{}}
	handler := peerHandler(p.leader, selfLeads)
	p.transport.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.sentVersions = append(p.sentVersions, r.Header.Get(httpx.HeaderStateVersion))
		handler.ServeHTTP(w, r)
	})
	p.follower = newFollowerFixture(t, p.transport, remoteLeads("gpu-1:7400"))
	p.follower.config.HostID, p.follower.config.Local = followerID, followerState{state: p.follower.state}
	p.follower.viewErr = errElection
	p.follower.disconnected[hostID] = true // only the leader knows who is connected
	return p
}

// applyBoth record a command in both states.
func (p *leaderAndFollower) applyBoth(t testing.TB, command raftfsm.Command) {
	t.Helper()
	p.leader.mustApply(t, command)
	p.follower.mustApply(t, command)
}

// nameClusters makes one cluster in each state, at the same index, whose names tell who answers.
func (p *leaderAndFollower) nameClusters(t testing.TB) *leaderAndFollower {
	t.Helper()
	p.leader.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "of-the-leader"}})
	p.follower.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "of-the-other"}})
	return p
}

// wantAnswerFrom checks from whose state the clusters were listed.
func (r reply) wantAnswerFrom(t testing.TB, who string) {
	t.Helper()
	if r.Code != 200 || !strings.Contains(r.Body.String(), "cluster/of-the-"+who) || r.Header().Get("X-Pinion-Stale") != "" || r.Header().Get(httpx.HeaderStateMatch) != "" {
		t.Errorf("not the answer of the %s: %d %v %s", who, r.Code, r.Header(), r.Body)
	}
}

func TestAServerWithTheStateOfTheLeaderAnswersReadsItself(t *testing.T) {
	p := newLeaderAndFollower(t).nameClusters(t)
	p.follower.aws("ListClusters", "{}").wantAnswerFrom(t, "other")
	p.follower.rest("ListClusters", "{}").wantAnswerFrom(t, "other")
	p.follower.config.Trusted = false
	p.follower.serve(signed(t, "ListClusters", "{}", epoch)).wantAnswerFrom(t, "other")
	if p.transport.count != 3 {
		t.Errorf("the leader was asked %d times for three answers", p.transport.count)
	}
}

func TestAnyOtherStateIsTheLeadersToAnswerFrom(t *testing.T) {
	more := raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "more"}}
	for name, differ := range map[string]func(p *leaderAndFollower){
		"an older one":  func(p *leaderAndFollower) { p.leader.mustApply(t, more) },
		"a younger one": func(p *leaderAndFollower) { p.follower.mustApply(t, more) },
		"a recovered one": func(p *leaderAndFollower) { // the same index in two incarnations
			p.leader.mustApply(t, raftfsm.PutSettings{Settings: spec.Settings{Incarnation: 2}})
			p.follower.mustApply(t, more)
		},
		"none": func(p *leaderAndFollower) {
			p.follower.config.Local = followerState{p.follower.state, spec.ErrUnavailable}
		},
		"none, and never": func(p *leaderAndFollower) { p.follower.config.Local = nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := newLeaderAndFollower(t).nameClusters(t)
			differ(p)
			p.follower.aws("ListClusters", "{}").wantAnswerFrom(t, "leader")
		})
	}
}

// A change that comes while the leader is asked may be one that the leader has not applied: the next read there would not see
// it.
func TestTheAnswerIsFromTheStateThatWasCompared(t *testing.T) {
	p := newLeaderAndFollower(t).nameClusters(t)
	handler := p.transport.handler
	p.transport.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		p.follower.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "too-new"}})
	})
	got := p.follower.aws("ListClusters", "{}")
	got.wantAnswerFrom(t, "other")
	if strings.Contains(got.Body.String(), "too-new") {
		t.Errorf("%s", got.Body)
	}
}

// A server that lags behind does not know the newest keys, so it refuses nobody.
func TestWhoIsUnknownHereIsAskedOfTheLeader(t *testing.T) {
	p := newLeaderAndFollower(t)
	p.follower.config.Trusted = false
	const newKey = "AKIANEW0000000000000"
	p.leader.mustApply(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: newKey, Secret: secret, Role: accesskey.RoleRead, CreatedAt: epoch}}))
	p.follower.mustApply(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "of-the-other"}})
	list := func(credential string) reply {
		r := httptest.NewRequest("POST", "/v1/ListClusters", strings.NewReader("{}"))
		r.Header.Set("Authorization", "Bearer "+credential)
		return p.follower.serve(r)
	}
	if got := list(newKey + ":" + secret); got.Code != 200 || strings.Contains(got.Body.String(), "of-the-other") {
		t.Errorf("a key that is new: %d %s", got.Code, got.Body)
	}
	if got := list(keyID + ":wrong"); got.Header().Get("X-Amzn-ErrorType") != "UnrecognizedClientException" {
		t.Errorf("a wrong secret: %d %s", got.Code, got.Body)
	}
	if p.sentVersions[0] != "" || p.sentVersions[1] != "" {
		t.Errorf("it offered to answer people whom it does not know: %q", p.sentVersions)
	}
}

func TestAKeyMayNotDoMoreAtAServerThatAnswersItself(t *testing.T) {
	p := newLeaderAndFollower(t)
	p.follower.config.Trusted = false
	const bound = "AKIABOUND00000000000"
	p.applyBoth(t, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab"}})
	p.applyBoth(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: bound, Secret: secret, Role: accesskey.RoleRead, Cluster: "lab", CreatedAt: epoch}}))
	for cluster, status := range map[string]int{"lab": 200, "default": 403} {
		r := httptest.NewRequest("POST", "/v1/ListTasks", strings.NewReader(`{"cluster":"`+cluster+`"}`))
		r.Header.Set("Authorization", "Bearer "+bound+":"+secret)
		if got := p.follower.serve(r); got.Code != status {
			t.Errorf("tasks of %s: %d %s", cluster, got.Code, got.Body)
		}
	}
}

func TestChangesAreTheLeadersAlways(t *testing.T) {
	p := newLeaderAndFollower(t)
	for _, operation := range []string{"CreateCluster", "RunTask", "NoSuchThing"} {
		before := len(p.sentVersions)
		p.follower.aws(operation, "{}")
		if len(p.sentVersions) != before+1 || p.sentVersions[before] != "" {
			t.Errorf("%s: the leader was sent the versions %q", operation, p.sentVersions[before:])
		}
	}
	p.follower.rest("CreateCluster", `{"clusterName":"lab"}`)
	if p.leader.state.View().Cluster("lab") == nil || p.follower.state.View().Cluster("lab") != nil {
		t.Error("the cluster was not made by the leader alone")
	}
}

// Only hosts can say which state they have; to everybody else the leader gives the answer itself.
func TestNobodyElseIsToldThatTheStateIsTheSame(t *testing.T) {
	p := newLeaderAndFollower(t).nameClusters(t)
	r := awsRequest("ListClusters", "{}")
	r.Header.Set(httpx.HeaderStateVersion, leader.StateVersion(p.leader.state.View()))
	p.leader.serve(r).wantAnswerFrom(t, "leader")
}

// A pool that is being updated has leaders that know nothing of this; they answer as they always did.
func TestALeaderThatReadsNoStateHeaderAnswers(t *testing.T) {
	p := newLeaderAndFollower(t).nameClusters(t)
	handler := p.transport.handler
	p.transport.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del(httpx.HeaderStateVersion)
		handler.ServeHTTP(w, r)
	})
	p.follower.aws("ListClusters", "{}").wantAnswerFrom(t, "leader")
}

func TestAReadIsTriedAgainUntilALeaderAnswers(t *testing.T) {
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(httpx.HeaderStateMatch, "true")
		_, _ = io.WriteString(w, `{"unreachable":["aaa`)
	}
	deposed := func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set(httpx.HeaderForwarded, followerID)
		peerHandler(newFixture(t), noLeaderNow).ServeHTTP(w, r)
	}
	for name, first := range map[string]http.HandlerFunc{"a word that breaks off": broken, "a leader that was deposed": deposed} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newLeaderAndFollower(t).nameClusters(t)
				handler := p.transport.handler
				p.transport.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if p.transport.count == 1 {
						first(w, r)
						return
					}
					handler.ServeHTTP(w, r)
				})
				p.follower.aws("ListClusters", "{}").wantAnswerFrom(t, "other")
				if p.transport.count != 2 {
					t.Errorf("%d tries", p.transport.count)
				}
			})
		})
	}
}

// Having the state is not enough: without a leader nobody knows whether it is the newest.
func TestAStateWithoutALeaderAnswersNothing(t *testing.T) {
	p := newLeaderAndFollower(t)
	p.follower.config.Leader = fakeLeadership(noLeaderNow)
	p.follower.aws("ListClusters", "{}").wantError(t, 500, "ServerException", noLeader)
	p.follower.config.Leader = remoteLeads("gone:7400")
	p.transport.failBefore = func(int) error { return errDial }
	synctest.Test(t, func(t *testing.T) {
		p.follower.aws("ListClusters", "{}").wantError(t, 500, "ServerException", "The leader of the pool at gone:7400 cannot be reached: dial tcp: connection refused. Nothing was done; try again.")
	})
}

// As from the leader: one id, a length, and gzip for those who read it.
func TestTheAnswerOfAServerLooksLikeTheLeaders(t *testing.T) {
	p := newTwoHosts(t)
	c := p.other.config
	c.Trusted, c.Now, c.Leader, c.Forward = false, time.Now, remoteLeads(p.peer.Listener.Addr().String()), p.peer.Client().Transport
	c.Local = followerState{state: p.other.state}
	server := httptest.NewServer(NewHandler(c))
	defer server.Close()
	question := p.leader.describing(t, 100)
	p.other.describing(t, 100)
	p.leader.disconnected[hostID] = true
	ask := func(url string) reply {
		got := send(t, "POST", url+"/v1/DescribeTasks", question, "Authorization", bearerKey, "Accept-Encoding", "gzip")
		if got.Code != 200 || got.Header().Get("Content-Encoding") != "gzip" || got.Header().Get("Content-Length") == "" ||
			len(got.Header().Values("x-amzn-RequestId")) != 1 || got.Header().Get(httpx.HeaderStateMatch) != "" {
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
		p := newLeaderAndFollower(t)
		leader, other := NewHandler(p.leader.config), NewHandler(p.follower.config)
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
					_, _ = p.follower.Propose(t.Context(), change)
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
