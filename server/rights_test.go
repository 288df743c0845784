package server

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/jointoken"
	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/history"
	"pinion/server/id"
	"pinion/server/liveness"
	"pinion/server/membership"
	"pinion/server/orchestrator"
	"pinion/server/peer"
	"pinion/server/prefetch"
	"pinion/server/rpc"
	"pinion/server/tracker"
)

// Whoever cannot prove to be a host of the pool reads nothing and does nothing, whatever it says and calls.
func TestWithoutACertificateOfThePoolThePortIsClosed(t *testing.T) {
	r := newRights(t)
	authority := heldCA(t, r.server)
	a, b, foreign := certOf(t, r.a), certOf(t, r.b), certOf(t, r.foreign)
	callers := map[string]*tls.Certificate{
		"no certificate":                             nil,
		"a host of another pool":                     foreign,
		"another pool's, with this pool's behind it": {Certificate: [][]byte{foreign.Certificate[0], a.Certificate[1]}, PrivateKey: foreign.PrivateKey},
		"a host that was removed":                    certOf(t, r.removed),
		"another host's certificate without its key": {Certificate: b.Certificate, PrivateKey: a.PrivateKey},
		"the authority's without its key":            {Certificate: b.Certificate[1:], PrivateKey: a.PrivateKey},
		"an expired certificate":                     signedFor(t, r.a.cfg.HostID, &authority, time.Now().AddDate(0, -2, 0)),
		"the CA's, for a server and another key":     signedFor(t, r.server.cfg.HostID, &authority, time.Now()),
		"the CA's, for an agent and another key":     signedFor(t, r.a.cfg.HostID, &authority, time.Now()),
		"the CA's, for a made-up host":               signedFor(t, id.New(), &authority, time.Now()),
		"one that nobody signed for this pool":       signedFor(t, r.server.cfg.HostID, nil, time.Now()),
	}
	calls := r.secrets()
	for path := range r.server.member.api.routes() {
		if _, listed := calls[path]; !listed {
			t.Errorf("the call %s has no line in this test", path)
		}
	}
	before := r.server.member.localServer().state.View()
	for name, cert := range callers {
		t.Run(name, func(t *testing.T) {
			c := caller{r.server.where, cert}
			for path, in := range calls {
				if status, text := c.post(t, peer.Peer, path, in); status != 0 {
					t.Errorf("%s answers %d %s", path, status, text)
				}
			}
			if word, err := readRaftPreamble(t, c); err == nil {
				t.Errorf("Raft says %x", word)
			}
		})
	}
	after, victim := r.server.member.localServer().state.View(), r.b.cfg.HostID
	if !reflect.DeepEqual(after.Host(victim), before.Host(victim)) || len(after.Hosts("")) != len(before.Hosts("")) || r.apiCalls.Load() != 0 {
		t.Errorf("a host has changed, or one of %d calls reached the API", r.apiCalls.Load())
	}
}

// The listener for hosts that have no certificate yet has two calls, which take a token alone.
func TestTheListenerForJoiningHostsKnowsOnlyTokens(t *testing.T) {
	r := newRights(t)
	good, err := admission.ParseToken(r.joinToken())
	if err != nil {
		t.Fatal(err)
	}
	anybody := caller{r.server.where, nil}
	for path, in := range r.secrets() {
		if status, text := anybody.post(t, peer.Join, path, in); status != http.StatusNotFound {
			t.Errorf("%s answers %d %s", path, status, text)
		}
	}
	request := func(h *testHost) []byte {
		csr, err := h.cfg.Identity.NewRequest()
		if err != nil {
			t.Fatal(err)
		}
		return csr
	}
	before := r.server.member.localServer().state.View()
	for name, k := range map[string]struct {
		ask  admission.JoinRequest
		want error
	}{
		"no token":          {admission.JoinRequest{HostID: id.New(), CSR: request(r.foreign)}, jointoken.ErrUnknown},
		"a guessed secret":  {admission.JoinRequest{HostID: id.New(), TokenID: good.ID, Secret: "guess", CSR: request(r.foreign)}, jointoken.ErrWrong},
		"another's name":    {admission.JoinRequest{HostID: r.b.cfg.HostID, TokenID: good.ID, Secret: good.Secret, CSR: request(r.foreign)}, spec.ErrInUse},
		"a removed host":    {admission.JoinRequest{HostID: r.removed.cfg.HostID, TokenID: good.ID, Secret: good.Secret, CSR: request(r.removed)}, spec.ErrRemoved},
		"the server's name": {admission.JoinRequest{HostID: r.server.cfg.HostID, TokenID: good.ID, Secret: good.Secret, CSR: request(r.foreign)}, spec.ErrInUse},
	} {
		status, text := anybody.post(t, peer.Join, admission.PathJoin, k.ask)
		var f rpc.WireError
		if json.Unmarshal(text, &f) != nil || status == http.StatusOK || !errors.Is(f.Err(), k.want) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if after := r.server.member.localServer().state.View(); len(after.Hosts("")) != len(before.Hosts("")) || jointoken.Find(after, good.ID).Used != jointoken.Find(before, good.ID).Used {
		t.Error("somebody was let in")
	}
	status, text := anybody.post(t, peer.Join, admission.PathRemovalStatus, admission.RemovalStatus{HostID: r.removed.cfg.HostID})
	var about map[string]any
	if err := json.Unmarshal(text, &about); err != nil || status != http.StatusOK || !slices.Equal(slices.Sorted(maps.Keys(about)), []string{"ca", "hostId", "removed", "signature"}) {
		t.Errorf("of a removed host anybody learns %s", text)
	}
}

// An agent speaks for itself. What concerns other hosts, the pool's log and its secrets is for servers. Its certificate gets it
// its own access key, the API as its host (see package api), and lets in who has a token.
func TestAnAgentSpeaksForItselfAlone(t *testing.T) {
	r := newRights(t)
	agent, server := caller{r.server.where, certOf(t, r.a)}, r.server.member.localServer()
	task := r.run(r.b)
	eventually(t, "the task runs", func() bool { return r.view().Task(task.ID).LastStatus == spec.Running })
	refused := map[string]string{ // call -> why
		dispatch.PathSession:        "without saying who it is",
		admission.PathKeyring:       "is no server",
		dispatch.PathRegister:       "is no server",
		dispatch.PathReports:        "is no server",
		dispatch.PathMetrics:        "is no server",
		liveness.PathHeartbeats:     "is no server",
		history.PathRead:            "is no server",
		prefetch.Path:               "is no server",
		dispatch.PathLease:          "is no server",
		admission.PathACME:          "no listener has the certificate",
		admission.PathRenew:         "request",
		admission.PathAdmit:         "PEM",
		admission.PathSecrets:       "the task cannot have it",
		orchestrator.PathProtection: spec.ReasonMissing,
		admission.PathCredentials:   admission.ErrNoRole.Error(),
	}
	allowed := []string{tracker.PathRequest, membership.PathStats, membership.PathRole, membership.PathPoolInfo, admission.PathHostKey, membership.PathHostTags, admission.PathRoot, pathAPI + "v1/ListTasks"}
	for path, in := range r.secrets() {
		status, text := agent.post(t, peer.Peer, path, in)
		switch why, is := refused[path]; {
		case is && !strings.Contains(string(text), why):
			t.Errorf("%s answers %d %s", path, status, text)
		case !is && (status != http.StatusOK || !slices.Contains(allowed, path)):
			t.Errorf("%s has no line in this test, and answers %d %s", path, status, text)
		}
	}

	// Of another host's task it gets neither the secrets, nor the protection, nor an access key.
	for path, k := range map[string]struct {
		in  any
		why string
	}{
		admission.PathSecrets:       {map[string]any{"task": task.ID, "containers": []string{"main"}}, admission.ErrForeignTask.Error()},
		orchestrator.PathProtection: {map[string]any{"task": task.ID, "until": new(time.Now().Add(time.Hour))}, spec.ReasonMissing},
		admission.PathCredentials:   {map[string]any{"task": task.ID}, admission.ErrForeignTask.Error()},
	} {
		if _, text := agent.post(t, peer.Peer, path, k.in); !strings.Contains(string(text), k.why) {
			t.Errorf("%s of another host's task answers %s", path, text)
		}
	}

	// A session of its own does not let it speak of another's tasks, or under another's name.
	mine := []spec.TaskReport{{TaskID: task.ID, Status: spec.Stopped}}
	unknown, err := r.a.member.Agent().Report(t.Context(), r.b.cfg.HostID, mine)
	if err != nil || !slices.Equal(unknown, []string{task.ID}) || server.state.View().Task(task.ID).LastStatus != spec.Running {
		t.Errorf("a report of another host's task: %v %v", unknown, err)
	}
	if r.a.member.upstream.Session() == nil {
		t.Error("it has no session")
	}
	if _, err := r.a.member.upstream.Join(t.Context(), r.b.agent.host, nil); err == nil {
		t.Error("it took another host's name")
	}
}

// Nor does another agent take it for a server.
func TestAnAgentDoesNothingForAnotherAgent(t *testing.T) {
	r := newRights(t)
	agent, server := caller{r.b.where, certOf(t, r.a)}, caller{r.b.where, certOf(t, r.server)}
	var fetched atomic.Int64
	r.b.member.Prefetch.OnPrefetch(func([]string) { fetched.Add(1) })
	calls := r.secrets()
	for _, path := range []string{
		admission.PathKeyring, dispatch.PathRegister, dispatch.PathReports, dispatch.PathMetrics, dispatch.PathLease, liveness.PathHeartbeats, history.PathRead, prefetch.Path,
	} {
		if status, text := agent.post(t, peer.Peer, path, calls[path]); !strings.Contains(string(text), "is no server") {
			t.Errorf("%s answers %d %s", path, status, text)
		}
	}
	if fetched.Load() > 0 {
		t.Error("it fetches the images that another agent names")
	}
	if status, text := server.post(t, peer.Peer, prefetch.Path, calls[prefetch.Path]); status != http.StatusOK || fetched.Load() != 1 {
		t.Errorf("those that a server names: %d %s", status, text)
	}
}

func TestRaftIsForServersOnly(t *testing.T) {
	r := newRights(t)
	server := r.server.member.localServer()
	agent := caller{r.server.where, certOf(t, r.a)}
	for range 3 {
		if word, err := readRaftPreamble(t, agent); err == nil {
			t.Errorf("an agent hears Raft say %x", word)
		}
	}
	if said := strings.Count(r.log.String(), "wants to speak Raft"); said != 1 {
		t.Errorf("three tries were reported %d times", said)
	}
	if status, _ := agent.post(t, peer.Peer, membership.PathStats, struct{}{}); status != http.StatusOK {
		t.Errorf("as an agent it is answered %d", status)
	}

	// One that the pool wants as a server is heard from that moment on, before it is in Raft's configuration.
	apply(t, server, raftfsm.SetServerRole{ID: r.a.cfg.HostID, Server: true})
	if _, err := readRaftPreamble(t, agent); err != nil {
		t.Errorf("a host that is to become a server: %v", err)
	}
	apply(t, server, raftfsm.SetServerRole{ID: r.a.cfg.HostID})
	eventually(t, "it is an agent again", func() bool { return !server.servers.IsServer(r.a.cfg.HostID) && r.a.member.localServer() == nil })
	if _, err := readRaftPreamble(t, agent); err == nil {
		t.Error("a host that is no server any more is heard")
	}
}

// A server that comes back may find a leader of which it has never heard. It must hear it, or it would never catch up.
func TestAServerThatMissedTheOthersChangeHearsThem(t *testing.T) {
	p := newPool(t)
	p.found(nil)
	p.join(2)
	p.waitForVoters(3)
	late, other := p.followers()[0], p.followers()[1]
	late.close()
	newcomer := p.join(1)[0]
	eventually(t, "the newcomer is known", func() bool { return p.view().Host(newcomer.cfg.HostID) != nil })
	apply(t, p.leader().member.localServer(), raftfsm.SetServerRole{ID: newcomer.cfg.HostID, Server: true})
	apply(t, p.leader().member.localServer(), raftfsm.SetServerRole{ID: other.cfg.HostID})
	eventually(t, "the newcomer votes, and the other is no server", func() bool {
		roles, err := p.leader().member.Hosts.Roles(t.Context())
		return err == nil && roles[newcomer.cfg.HostID] == string(membership.RoleServer) && other.member.localServer() == nil
	})
	eventually(t, "the newcomer leads", func() bool {
		if leader := p.leader(); leader != newcomer {
			_ = leader.member.localServer().node.Raft().LeadershipTransferToServer(raft.ServerID(newcomer.cfg.HostID), raft.ServerAddress(newcomer.where)).Error()
		}
		return p.leader() == newcomer
	})
	if err := late.start(); err != nil {
		t.Fatal(err)
	}
	p.waitForVoters(3)
	if own := late.member.localServer(); own == nil || p.leader() != newcomer {
		t.Error("the servers are not those that this test is about")
	}
	p.checkAgreement()
}
