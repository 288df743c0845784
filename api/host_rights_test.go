package api

import (
	"net/http"
	"strings"
	"testing"

	"pinion/api/httpx"
	"pinion/api/rest"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
)

// agentKeyID is the key of the host followerID, which is an agent in these tests.
const agentKeyID = "AKIAAGENT"

// newAgent is two hosts of which the one that does not lead is an agent, with its own access key.
func newAgent(t *testing.T) (*twoHosts, *fakeAdmin) {
	p := newTwoHosts(t)
	k := &fakeAdmin{fakeStore: p.leader.fakeStore}
	leader, agent := newHost(hostID, "gpu-1", 4), newHost(followerID, "gpu-2", 4)
	agent.Address = p.otherPeer.Listener.Addr().String()
	for _, c := range []raftfsm.Command{
		raftfsm.PutHost{Host: leader}, raftfsm.PutHost{Host: agent}, raftfsm.SetServerRole{ID: hostID, Server: true},
		raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: agentKeyID, HostID: followerID, Secret: secret, Role: accesskey.RoleAdmin, CreatedAt: epoch}}),
	} {
		p.leader.mustApply(t, c)
	}
	config := p.leader.config
	config.FromPeer, config.Admin = sentBy(followerID, false), rest.Admin{JoinTokens: k, Hosts: k, Snapshots: k}
	config.Forward = p.otherPeer.Client().Transport
	p.peer.Config.Handler = NewHandler(config)
	return p, k
}

// Root of an agent has the rights of that host through its socket, and its key has no others.
func TestRootOfAnAgentHasTheRightsOfItsHostAlone(t *testing.T) {
	p, k := newAgent(t)
	for name, credentials := range map[string][]string{"its socket": nil, "its key": {"Authorization", "Bearer " + agentKeyID + ":" + secret}} {
		t.Run(name, func(t *testing.T) {
			k.calls = nil
			call := func(method, path, body string) reply { return send(t, method, p.socket.URL+path, body, credentials...) }
			state := func(host, status string) string {
				return `{"containerInstances":["` + host + `"],"status":"` + status + `"}`
			}
			for path, body := range map[string]string{
				"ListTasks": `{}`, "ListContainerInstances": `{}`, "UpdateContainerInstancesState": state(followerID, "DRAINING"),
				"admin/hosts/remove": `{"host":"` + followerID + `"}`,
			} {
				if got := call("POST", "/v1/"+path, body); got.Code != http.StatusOK {
					t.Errorf("%s: %d %s", path, got.Code, got.Body)
				}
			}
			if got := call("GET", "/v1/hosts", ""); got.Code != http.StatusOK {
				t.Errorf("hosts: %d %s", got.Code, got.Body)
			}
			for path, body := range map[string]string{
				"RunTask": `{"taskDefinition":"f"}`, "CreateCluster": `{"clusterName":"lab"}`, "ListTasks": `{"cluster":"lab"}`,
				"UpdateContainerInstancesState": state(hostID, "DRAINING"), "DeregisterContainerInstance": `{"containerInstance":"` + followerID + `"}`,
				"admin/hosts/remove": `{"host":"` + hostID + `"}`, "admin/hosts/promote": `{"host":"` + followerID + `"}`, "admin/hosts/demote": `{"host":"` + hostID + `"}`,
				"admin/keys": `{"role":"admin"}`, "admin/tokens": `{}`,
			} {
				if got := call("POST", "/v1/"+path, body); got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
					t.Errorf("%s: %d %s", path, got.Code, got.Body)
				}
			}
			for _, path := range []string{"/v1/admin/snapshot", "/v1/admin/keys", "/v1/admin/tokens", "/v1/hosts?cluster=lab"} {
				if got := call("GET", path, ""); got.Header().Get("X-Amzn-ErrorType") != wire.AccessDenied {
					t.Errorf("%s: %d %s", path, got.Code, got.Body)
				}
			}
			if got := call("POST", "/v1/RunTask", `{"taskDefinition":"f"}`); !strings.Contains(got.Body.String(), "pinion keys create --role submit") {
				t.Errorf("the refusal does not say which key allows it: %s", got.Body)
			}
			if len(k.calls) != 1 || k.calls[0] != "remove "+followerID+" false" {
				t.Errorf("%q", k.calls)
			}
		})
	}
}

// The certificate of an agent speaks for its socket and forwards what others have signed; it makes nobody else of its sender.
func TestTheCertificateOfAnAgentMakesNobodyAnAdmin(t *testing.T) {
	p, _ := newAgent(t)
	peer := func(path string, header ...string) reply {
		r, err := http.NewRequestWithContext(t.Context(), "GET", p.peer.URL+"/api"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return exchange(t, p.peer.Client(), r)
	}
	for name, k := range map[string]struct {
		path   string
		header []string
		want   string
	}{
		"no credentials":           {"/v1/hosts", nil, "MissingAuthenticationTokenException"},
		"forwarded, not signed":    {"/v1/hosts", []string{httpx.HeaderForwarded, followerID}, "MissingAuthenticationTokenException"},
		"the previous header":      {"/v1/admin/snapshot", []string{"X-Pinion-Trusted", "true"}, "MissingAuthenticationTokenException"},
		"its socket":               {"/v1/admin/snapshot", []string{httpx.HeaderSocket, "true"}, wire.AccessDenied},
		"authorized by itself":     {logPath, []string{httpx.HeaderAuthorizedBy, followerID}, wire.AccessDenied},
		"authorized by the leader": {logPath, []string{httpx.HeaderAuthorizedBy, hostID}, wire.AccessDenied},
		"pulls":                    {"/v1/tasks/" + firstTask + "/pulls", []string{httpx.HeaderAuthorizedBy, hostID}, wire.AccessDenied},
		"the whole API":            {"/v1/admin/keys", []string{httpx.HeaderAuthorizedBy, hostID}, wire.AccessDenied},
	} {
		if got := peer(k.path, k.header...); got.Header().Get("X-Amzn-ErrorType") != k.want {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// The rights of a host's key follow its role, and end with it.
func TestAHostThatIsRemovedHasNoRights(t *testing.T) {
	p, _ := newAgent(t)
	list := func() reply { return send(t, "POST", p.socket.URL+"/v1/ListTasks", `{}`) }
	signed := func(path string) reply {
		return send(t, "GET", p.follower.URL+path, "", "Authorization", "Bearer "+agentKeyID+":"+secret)
	}
	p.leader.mustApply(t, raftfsm.SetServerRole{ID: followerID, Server: true})
	if got := signed("/v1/admin/keys"); got.Code != http.StatusOK {
		t.Errorf("a server's key: %d %s", got.Code, got.Body)
	}
	p.leader.mustApply(t, raftfsm.SetServerRole{ID: followerID})
	if got := signed("/v1/admin/keys"); got.Code != http.StatusForbidden {
		t.Errorf("an agent's key: %d %s", got.Code, got.Body)
	}
	p.leader.mustApply(t, raftfsm.RemoveHost{ID: followerID, Force: true, At: epoch})
	for name, got := range map[string]reply{"socket": list(), "key": signed("/v1/hosts")} {
		if got.Header().Get("X-Amzn-ErrorType") != "UnrecognizedClientException" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}
